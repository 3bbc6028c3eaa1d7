// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include "bora/base/file.h"

namespace bora {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

struct Outputs {
  std::mutex mutex;
  std::array<bool, 2> lost{};
  int error = 0;
  std::string path;
  std::string waiting;  // for a path
  bool told = false;
};

// Never destroyed: a thread may still write while the process ends.
Outputs& outputs() {
  static auto* all = new Outputs;
  return *all;
}

// 0, or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(descriptor, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // somebody else has made a shared terminal or pipe non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool is_loss(int error) { return error == EPIPE || error == EIO || error == EBADF; }

void tell(Outputs& all) {
  if (all.told || !all.lost[0] || all.lost[1]) return;
  all.told = true;
  all.lost[1] = is_loss(write_all(
      STDERR_FILENO, "bora: nobody reads standard output any more; it goes on in " + all.path + "\n"));
}

void keep(Outputs& all, std::string_view text) {
  all.waiting += text;
  if (all.waiting.size() > kMostWaiting) all.waiting.erase(0, all.waiting.size() - kMostWaiting);
  if (all.path.empty()) return;
  tell(all);
  try {
    const auto file = files().append(all.path);
    file->write(as_bytes(all.waiting));
    file->close();
    all.waiting.clear();
  } catch (const std::exception&) {  // a run's directory may not be there yet; with the next text, perhaps
  }
}

}  // namespace

void write_output(Output to, std::string_view text) {
  Outputs& all = outputs();
  const std::lock_guard lock(all.mutex);
  bool& lost = all.lost[to == Output::Standard ? 0 : 1];
  if (!lost) {
    std::fflush(to == Output::Standard ? stdout : stderr);  // what others have printed comes first
    const int error = write_all(to == Output::Standard ? STDOUT_FILENO : STDERR_FILENO, text);
    lost = is_loss(error);
    if (!lost && error != 0 && to == Output::Standard && all.error == 0) all.error = error;
  }
  if (lost) keep(all, text);
}

bool output_is_lost(Output stream) {
  Outputs& all = outputs();
  const std::lock_guard lock(all.mutex);
  return all.lost[stream == Output::Standard ? 0 : 1];
}

int output_error() {
  Outputs& all = outputs();
  const std::lock_guard lock(all.mutex);
  return all.error;
}

void hold_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDONLY);  // the lowest number that is free
}

void outlive_readers() { ::signal(SIGPIPE, SIG_IGN); }

void continue_output_in(const std::string& path) {
  Outputs& all = outputs();
  const std::lock_guard lock(all.mutex);
  all.path = path;
  if (!all.waiting.empty()) keep(all, "");
}

}  // namespace bora
