// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::run {

/// Full path of a program in PATH; nothing if it is not there.
std::optional<std::string> find_program(const std::string& name);

/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 wait to be taken by supervise(), and their
/// arrival between two programs is not lost; SIGHUP stays ignored where it was (nohup). Programs started
/// meanwhile get none of a terminal's signals.
class Supervision {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  Supervision();
  ~Supervision();
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  /// Runs a program, `line[0]` by its path, with variables added to its environment and no standard input,
  /// until it ends; it gets SIGTERM if this process dies. What it prints goes through pipes that are read for
  /// as long as it lives, and on by base/output.h; what it writes to its standard error goes to
  /// `on_error_output` instead, if given, which another thread calls until this function returns. `on_signal`
  /// is told of each signal, and the program's process number. Exit code, or 128 + the signal that ended it.
  int run(const std::vector<std::string>& line, const Variables& variables,
          const std::function<void(int signal, int program)>& on_signal,
          const std::function<void(std::string_view)>& on_error_output = {}) const;

  /// Waits; the signal that came meanwhile, if one did.
  std::optional<int> pause(double seconds) const;

 private:
  struct State;
  State* state_;
};

}  // namespace bora::run
