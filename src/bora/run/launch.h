// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Several workers of this program under mpirun, watched over and started again.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bora::run {

/// What is to be started.
struct LaunchArguments {
  std::int64_t workers = 0, threads = 0;  ///< 0 threads: the machine's cores divided among the workers
  std::int64_t restarts = 0;
  std::int64_t workers_on_restart = 0;  ///< 0: as many as before
  std::string hosts;
  bool no_pin = false, verbose = false;
  std::vector<std::string> command;  ///< "train", its files and flags
  std::string run_directory = {};    ///< of what is trained; "": nothing is
};
/// The cores that this process sees and those that it may use: mpirun pins to any that are there.
struct Cores {
  int online = 1, allowed = 1;
};

/// Options of Open MPI's mpirun for so many workers, without the program. `stays_here`: all of them run on
/// this machine, and talk over nothing but its loopback.
std::vector<std::string> mpirun_options(const LaunchArguments& arguments, std::int64_t workers,
                                        const Cores& cores, bool root, bool stays_here);
/// Threads of each worker; 0: each decides, since the cores of other hosts are not known here.
std::int64_t threads_of_each(const LaunchArguments& arguments, std::int64_t workers, const Cores& cores);

/// What the end of an attempt means.
enum class LaunchEnd { finished, stopped, again, failed };
LaunchEnd end_of_attempt(int code, bool stop_asked);

/// "launch -n 2 --" in a worker that `bora launch` has started, to be written before its command; else "".
std::string launched_by();

/// Exit code of a worker that stopped in order, at a step boundary and with a checkpoint. 75, but under
/// `bora launch`, which has to tell it from a lost worker's survivors, 76.
int orderly_stop_code();

/// Attempts until the workers finish, stop or fail for good. `quiet`: says nothing of what goes well. Exit
/// code: that of the first rank that failed; 75 if they stopped in order, or a worker was lost and no
/// restart is left.
int launch(LaunchArguments arguments, bool quiet);

}  // namespace bora::run
