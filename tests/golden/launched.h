// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A `bora launch` that runs beside the test.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "program.h"

namespace bora::golden {

class Launched {
 public:
  /// Starts `bora launch -n workers options... -- arguments...` in `folder`.
  Launched(const std::string& folder, int workers, const std::vector<std::string>& options,
           const std::vector<std::string>& arguments);
  ~Launched();  ///< kills what still runs
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  pid_t pid() const { return pid_; }
  /// Of mpirun and of all workers.
  std::vector<pid_t> started() const;
  /// Process numbers of the workers that run now, by rank.
  std::map<int, pid_t> workers() const;
  /// The worker of this rank, waited for: a process between two programs has no environment to tell its rank
  /// by. Throws if the command ends before, or after a minute.
  pid_t worker(int rank) const;
  /// Waits until there are so many workers; false if the command ends before, or after a minute.
  bool wait_for_workers(int count) const;
  /// Waits until the run of `folder` has a checkpoint of this step or a later one; likewise.
  bool wait_for_step(int step) const;
  bool ended() const;
  Finished wait();

 private:
  bool wait_until(bool (*done)(const Launched&, int), int argument) const;

  std::string folder_;
  pid_t pid_;
  mutable bool reaped_ = false;
  mutable int status_ = 0;
};

/// Whether it runs: what has ended and was not waited for by its parent does not.
bool is_running(pid_t process);

/// The newest complete checkpoint's step; -1 if there is none.
int newest_step(const std::string& folder);

}  // namespace bora::golden
