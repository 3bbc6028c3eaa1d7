// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/log.h"

#include <mutex>
#include <string>

#include "bora/base/locale_text.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"

namespace bora {
namespace {

struct Log {
  std::mutex mutex;
  void (*before)() = nullptr;
  void (*after)() = nullptr;
  bool quiet = false;
};

// Never destroyed: a thread may still log while the process ends.
Log& the_log() {
  static auto* log = new Log;
  return *log;
}

constexpr std::string_view kPrefix = "bora: ";

std::string with_prefix(std::string_view text) {
  std::string out(kPrefix);
  for (char c : text) {
    out += c;
    if (c == '\n') out.append(kPrefix.size(), ' ');
  }
  return out + '\n';
}

}  // namespace

void log_line(std::string_view text) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (log.quiet && !text.starts_with("warning: ")) return;
  const std::string line = in_locale(with_prefix(redact(text)));
  if (log.before != nullptr) log.before();
  write_output(Output::Error, line);
  if (log.after != nullptr) log.after();
}

void set_log_hooks(void (*before)(), void (*after)()) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.before = before;
  log.after = after;
}

void set_quiet(bool quiet) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.quiet = quiet;
}

}  // namespace bora
