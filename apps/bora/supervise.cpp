// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "supervise.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::app {
namespace {

constexpr std::array kStops = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

sigset_t awaited() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kStops) ::sigaddset(&set, signal);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// A terminal's signals go to the group in front, and the supervisor passes on what it wants to: so the
// program has a group of its own, and reads nothing from the terminal.
[[noreturn]] void become(std::vector<char*>& argv, const Supervision::Variables& variables,
                         const sigset_t& mask, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(126);  // it died before that
  int nothing[2];
  if (::pipe(nothing) == 0) {
    ::dup2(nothing[0], STDIN_FILENO);
    ::close(nothing[0]);
    ::close(nothing[1]);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

struct Supervision::State {
  sigset_t waiting_for, before;
};

Supervision::Supervision() : state_(new State) {
  state_->waiting_for = awaited();
  ::sigprocmask(SIG_BLOCK, &state_->waiting_for, &state_->before);
}

Supervision::~Supervision() {
  ::sigprocmask(SIG_SETMASK, &state_->before, nullptr);
  delete state_;
}

int Supervision::run(const std::vector<std::string>& line, const Variables& variables,
                     const std::function<void(int, int)>& on_signal) const {
  auto words = line;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t self = ::getpid(), program = ::fork();
  if (program < 0) fail(ErrorKind::Io, "{} cannot be started: {}", line[0], std::strerror(errno));
  if (program == 0) become(argv, variables, state_->before, self);
  // Where other threads run, one of them may take the signal that a child has ended: so look now and then.
  constexpr timespec kBetweenLooks{0, 200'000'000};
  for (;;) {
    const int signal = ::sigtimedwait(&state_->waiting_for, nullptr, &kBetweenLooks);
    if (signal > 0 && signal != SIGCHLD) on_signal(signal, program);
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) != program) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

std::optional<int> Supervision::pause(double seconds) const {
  sigset_t stops = state_->waiting_for;
  ::sigdelset(&stops, SIGCHLD);
  const timespec time{static_cast<time_t>(seconds),
                      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  const int signal = ::sigtimedwait(&stops, nullptr, &time);
  if (signal < 0) return std::nullopt;
  return signal;
}

std::optional<std::string> find_program(const std::string& name) {
  for (const auto& folder : split(env::launcher("PATH").value_or("/usr/bin:/bin"), ':')) {
    auto path = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace bora::app
