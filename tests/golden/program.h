// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Running the program as a user does.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bora::golden {

struct Finished {
  int code = 0;        ///< exit code; 128 + signal if killed
  std::string output;  ///< standard output and error
  double peak = 0;     ///< bytes that were resident at most
};

/// Runs `bora arguments...` in `folder`. kill_after > 0: SIGKILL after so many seconds. `out`: a file that
/// takes standard output instead.
Finished run(const std::string& folder, const std::vector<std::string>& arguments, double kill_after = 0,
             const char* out = nullptr);

/// The same in the place of a shell that has run these commands: "ulimit -v 4000000".
Finished run_after(const std::string& folder, const std::string& commands,
                   const std::vector<std::string>& arguments);

/// For the address sanitizer: Open MPI ends with memory in use, which is no leak of the program's.
inline constexpr const char* kLeaksOfMpi = "ASAN_OPTIONS=detect_leaks=0";
/// The same as `workers` workers under mpirun; both workers' lines are in the output.
Finished run_workers(const std::string& folder, int workers, const std::vector<std::string>& arguments);
/// The same as two workers, of whom the second has a variable ("NAME=value") set.
Finished run_unlike_workers(const std::string& folder, const std::vector<std::string>& arguments,
                            const std::string& variable);
/// Whether mpirun is here and the program has its MPI plug-in.
bool can_run_workers();

/// A new empty folder with a small configuration (config.yaml) and two texts: a tiny GPT-2 with dropout, two
/// lanes, a mixture of two sources, 40 steps.
std::string small_project(const std::string& name);

/// A new folder with everything in `project` but checkpoints after `step`; without the runs if that is 0.
std::string copy_project(const std::string& project, const std::string& name, std::int64_t step);

/// `arguments`, and `more` after them.
std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more);

/// The training losses that the run `run` of a project has written, step by step.
std::vector<double> losses(const std::string& project);

/// In `folder` and all folders within.
void for_each_file(const std::string& folder, const std::function<void(const std::string&)>& look);

}  // namespace bora::golden
