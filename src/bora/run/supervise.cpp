// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/output.h"
#include "bora/base/text.h"

namespace bora::run {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// A signal that waits is delivered even where it was ignored.
bool is_ignored(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

sigset_t awaited() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kStopSignals) {
    if (signal != SIGHUP || !is_ignored(signal)) ::sigaddset(&set, signal);  // nohup
  }
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// What a program prints on standard output or standard error, passed on by a thread: to `use`, if given, else
// to the same output of this process.
class Relay {
 public:
  using Use = std::function<void(std::string_view)>;
  Relay(Output to, Use use) : to_(to), use_(std::move(use)) {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail(ErrorKind::Io, "a pipe: {}", std::strerror(errno));
  }
  ~Relay() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    for (const int end : ends_) ::close(end);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int entry() const { return ends_[1]; }
  int descriptor() const { return to_ == Output::Standard ? STDOUT_FILENO : STDERR_FILENO; }
  void begin() {
    ::close(std::exchange(ends_[1], -1));
    thread_ = std::thread([this] { pass_on(); });
  }

 private:
  // Until the program has ended and nothing is left to read; what it leaves running may hold the pipe longer.
  void pass_on() const {
    constexpr int kBetweenLooks = 50;  // milliseconds
    std::array<char, 65536> piece;
    while (true) {
      const bool last = ended_;
      pollfd ready{ends_[0], POLLIN, 0};
      if (::poll(&ready, 1, last ? 0 : kBetweenLooks) <= 0) {
        if (last) return;
        continue;
      }
      const auto n = ::read(ends_[0], piece.data(), piece.size());
      if (n > 0)
        give({piece.data(), static_cast<std::size_t>(n)});
      else if (n == 0 || errno != EINTR)
        return;
    }
  }

  void give(std::string_view text) const {
    if (use_)
      use_(text);
    else
      write_output(to_, text);
  }

  Output to_;
  Use use_;
  std::array<int, 2> ends_{-1, -1};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// A terminal's signals go to the group in front, and the supervisor passes on what it wants to: so the
// program has a group of its own, and reads nothing from the terminal.
[[noreturn]] void become(std::vector<char*>& argv, const Supervision::Variables& variables,
                         const sigset_t& mask, pid_t parent, const std::array<Relay, 2>& prints) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(126);  // it died before that
  int nothing[2];
  if (::pipe(nothing) == 0) {
    ::dup2(nothing[0], STDIN_FILENO);
    ::close(nothing[0]);
    ::close(nothing[1]);
  }
  for (const Relay& relay : prints) ::dup2(relay.entry(), relay.descriptor());
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

struct Supervision::State {
  sigset_t waiting_for, before;
  int arrivals = -1;  // readable while one of these signals waits
};

Supervision::Supervision() : state_(new State) {
  state_->waiting_for = awaited();
  ::sigprocmask(SIG_BLOCK, &state_->waiting_for, &state_->before);
  state_->arrivals = ::signalfd(-1, &state_->waiting_for, SFD_CLOEXEC);
}

Supervision::~Supervision() {
  ::sigprocmask(SIG_SETMASK, &state_->before, nullptr);
  if (state_->arrivals >= 0) ::close(state_->arrivals);
  delete state_;
}

int Supervision::run(const std::vector<std::string>& line, const Variables& variables,
                     const std::function<void(int, int)>& on_signal,
                     const std::function<void(std::string_view)>& on_error_output) const {
  auto words = line;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<Relay, 2> prints{Relay(Output::Standard, {}), Relay(Output::Error, on_error_output)};
  const pid_t self = ::getpid(), program = ::fork();
  if (program < 0) fail(ErrorKind::Io, "{} cannot be started: {}", line[0], std::strerror(errno));
  if (program == 0) become(argv, variables, state_->before, self, prints);
  for (Relay& relay : prints) relay.begin();
  // Where other threads run, one of them may take the signal that a child has ended: so look now and then.
  constexpr int kBetweenLooks = 200;  // milliseconds
  constexpr timespec kNoTime{};
  for (;;) {
    pollfd events{.fd = state_->arrivals, .events = POLLIN, .revents = 0};
    ::poll(&events, 1, kBetweenLooks);
    const int signal = ::sigtimedwait(&state_->waiting_for, nullptr, &kNoTime);
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

}  // namespace bora::run
