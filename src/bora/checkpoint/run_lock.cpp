// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/run_lock.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::checkpoint {
namespace {

// .lock = "process PID on HOST since TIME\n"; empty between taking the lock and writing this.
std::string holder_of(const std::string& path) {
  constexpr std::size_t longest = 300;
  try {
    std::string text(trim(read_text(path)).substr(0, longest));
    if (!text.empty()) return text;
  } catch (const Error&) {  // whoever it is, it holds the lock
  }
  return "another process";
}

// The lock of a directory that was made for it, which goes with it if nothing else has come: a start that failed
// leaves no run.
class NewDirectory final : public FileLock {
 public:
  NewDirectory(std::unique_ptr<FileLock> lock, std::string directory)
      : lock_(std::move(lock)), directory_(std::move(directory)) {}
  ~NewDirectory() override {
    try {
      const auto names = files().list(directory_);
      if (names.size() != 1 || names.front() != kName) return;
      files().remove(path_join(directory_, kName));
      files().remove(directory_);
    } catch (const std::exception&) {  // then it stays
    }
  }

  static constexpr const char* kName = ".lock";

 private:
  std::unique_ptr<FileLock> lock_;
  std::string directory_;
};

}  // namespace

std::string holder_of_run(const std::string& run_directory) {
  const auto path = path_join(run_directory, NewDirectory::kName);
  if (!exists(path)) return "";
  // Another look holds it for a moment.
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    if (files().try_lock(path)) return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return holder_of(path);
}

RunLock::RunLock(const std::string& run_directory) : run_directory_(run_directory) {
  const bool is_new = !exists(run_directory);
  files().make_directories(run_directory);
  const std::string path = path_join(run_directory, NewDirectory::kName);
  lock_ = files().try_lock(path);
  if (!lock_) {
    fail(ErrorKind::Io,
         "{}: in use by {}\nhint: wait until it ends, stop it, or choose another run id (trainer.id)",
         run_directory, holder_of(path));
  }
  if (is_new) lock_ = std::make_unique<NewDirectory>(std::move(lock_), run_directory);
  const auto file = files().create(path);  // the same file, which stays locked
  file->write(as_bytes(fmt::format("process {} on {} since {}\n", ::getpid(),
                                   env::hostname().value_or("unknown host"), iso_time(wall_seconds()))));
  file->close();
}

}  // namespace bora::checkpoint
