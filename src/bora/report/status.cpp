// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/status.h"

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/secrets.h"

namespace bora::report {
namespace {

constexpr std::array<std::string_view, 4> kPhases = {"running", "finished", "stopped", "failed"};

std::string status_file(const std::string& run_directory) { return path_join(run_directory, "status.json"); }

Phase phase_of(const std::string& word, const std::string& file) {
  const auto* found = std::find(kPhases.begin(), kPhases.end(), word);
  if (found == kPhases.end()) fail(ErrorKind::Corruption, "{}: state is {}", file, word);
  return static_cast<Phase>(found - kPhases.begin());
}

Status parse_status(const std::string& file) {
  const auto json = parse_json(read_text(file), file);
  return {.phase = phase_of(json_get<std::string>(json, "state", file), file),
          .step = json_get<std::int64_t>(json, "step", file),
          .num_train_steps = json_get<std::int64_t>(json, "num_train_steps", file),
          .exit_code = static_cast<int>(json_get<std::int64_t>(json, "exit_code", file)),
          .reason = json_get<std::string>(json, "reason", file, ""),
          .time = json_get<double>(json, "time", file)};
}

}  // namespace

void write_status(const std::string& run_directory, const Status& status) {
  const Json json = {{"state", kPhases[static_cast<std::size_t>(status.phase)]},
                     {"step", status.step},
                     {"num_train_steps", status.num_train_steps},
                     {"exit_code", status.exit_code},
                     {"reason", redact(status.reason)},
                     {"time", status.time}};
  const auto text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_atomically(status_file(run_directory), text, Access::Owner);
}

std::optional<Status> read_status(const std::string& run_directory) {
  const auto file = status_file(run_directory);
  try {
    if (exists(file)) return parse_status(file);
  } catch (const Error&) {  // as if there were none
  }
  return std::nullopt;
}

}  // namespace bora::report
