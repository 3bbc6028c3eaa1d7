// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/launch.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/checkpoint/run_lock.h"
#include "bora/run/loopback.h"
#include "bora/run/mpirun_messages.h"
#include "bora/run/supervise.h"

namespace bora::run {
namespace {

constexpr const char* kLaunched = "BORA_LAUNCH";  // its words: "launch -n 2 --"
constexpr int kStoppedInOrder = 76;
// Time that mpirun leaves survivors of a lost worker for their report, after it has told them to end.
constexpr const char* kLastWords = "2";

Cores this_machine() {
  Cores cores;
  cores.online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  cores.allowed = cores.online;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cores.allowed = std::max(1, CPU_COUNT(&set));
  return cores;
}

std::string mpirun_path() {
  auto path = find_program("mpirun");
  if (!path)
    fail(ErrorKind::Unsupported,
         "launch: mpirun is not in PATH\nhint: sudo apt-get install openmpi-bin libopenmpi-dev, then build "
         "Bora again for its MPI plug-in");
  return *path;
}

std::string this_program() {
  char self[4096];
  const auto n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  return {self, n > 0 ? static_cast<std::size_t>(n) : 0};
}

/// One `bora launch`: attempts until the workers finish, stop or fail for good.
class Launch {
 public:
  Launch(LaunchArguments arguments, bool quiet) : arguments_(std::move(arguments)), quiet_(quiet) {}

  int operator()() {
    mpirun_ = mpirun_path();
    auto workers = arguments_.workers;
    const auto earlier = files().info(arguments_.run_directory);
    for (std::int64_t attempt = 0;; ++attempt) {
      const int code = attempt_with(workers);
      const auto end = end_of_attempt(code, asked_);
      if (end == LaunchEnd::finished) return 0;
      if (end == LaunchEnd::stopped) return stopped();
      if (end == LaunchEnd::failed) return code;
      if (unreached_ && attempt == 0) return nothing_began();
      if (attempt == arguments_.restarts) return no_restart_left(code);
      if (arguments_.workers_on_restart > 0) workers = arguments_.workers_on_restart;
      say(fmt::format("{}; restart {} of {} with {}", what_happened(code), attempt + 1, arguments_.restarts,
                      count(workers)));
      if (!is_there(earlier)) std::erase(arguments_.command, "--fresh");
      if (supervision_.pause(kBetweenAttempts) || wait_for_directory()) return stopped();
    }
  }

 private:
  // An earlier run that no attempt has put aside yet; once it is, what there is is the new run's.
  bool is_there(const std::optional<FileInfo>& earlier) const {
    const auto now = files().info(arguments_.run_directory);
    return earlier && now && now->same_file(*earlier);
  }

  // Seconds, for what the lost workers held to become free; and for the run's directory, which one may hold that is stuck
  // in a write.
  static constexpr double kBetweenAttempts = 1, kDirectory = 60;

  // True where a signal came meanwhile. Who holds it for longer, the next attempt tells.
  bool wait_for_directory() {
    const auto holder = [&] {
      return arguments_.run_directory.empty() ? "" : checkpoint::holder_of_run(arguments_.run_directory);
    };
    auto who = holder();
    if (!who.empty()) say(fmt::format("{} is still held by {}; waiting", arguments_.run_directory, who));
    for (double waited = 0; !who.empty() && waited < kDirectory; waited += kBetweenAttempts, who = holder())
      if (supervision_.pause(kBetweenAttempts)) return true;
    return false;
  }

  static std::string count(std::int64_t workers) {
    return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
  }
  static bool lost_a_worker(int code) { return code > 128 || code == exit_code(ErrorKind::Stopped); }
  std::string what_happened(int code) const {
    if (!lost_a_worker(code))
      return fmt::format("{} failed (exit code {})", failed_.empty() ? "the workers" : failed_, code);
    if (code > 128 && code < 128 + NSIG)
      return fmt::format("{} was lost ({})", killed_.empty() ? "a worker" : killed_, ::strsignal(code - 128));
    return fmt::format("a worker was lost (exit code {})", code);  // of one that missed it
  }
  void say(const std::string& line) const {
    write_output(Output::Error, fmt::format("bora launch: {}\n", redact(line)));
  }

  int attempt_with(std::int64_t workers) {
    const auto cores = this_machine();
    const auto threads = threads_of_each(arguments_, workers, cores);
    const bool here = stays_here(arguments_.hosts);
    auto line = mpirun_options(arguments_, workers, cores, ::geteuid() == 0, here);
    if (!quiet_)
      say(fmt::format("{}{}{}", count(workers),
                      threads > 0 ? fmt::format(", {} thread{} each", threads, threads == 1 ? "" : "s") : "",
                      std::find(line.begin(), line.end(), "none") == line.end() ? ", pinned to cores" : ""));
    line.insert(line.begin(), mpirun_);
    line.push_back(this_program());
    line.insert(line.end(), arguments_.command.begin(), arguments_.command.end());
    const auto hosts = arguments_.hosts.empty() ? "" : " --hosts " + shell_word(arguments_.hosts);
    Supervision::Variables variables = {{kLaunched, fmt::format("launch -n {}{} --", workers, hosts)},
                                        {"OMPI_MCA_odls_base_sigkill_timeout", kLastWords},
                                        {"PRTE_MCA_odls_base_sigkill_timeout", kLastWords}};
    if (threads > 0) variables.emplace_back("BORA_THREADS", std::to_string(threads));
    // mpirun gives rank 0 a terminal of its own, whatever this program writes to.
    if (::isatty(STDOUT_FILENO) == 0) variables.emplace_back("TERM", "dumb");
    if (const auto library = here ? loopback_preload() : std::nullopt)
      variables.emplace_back("LD_PRELOAD", *library);
    MpirunMessages messages([](std::string_view text) { give(text); }, arguments_.verbose);
    const int code = supervision_.run(
        line, variables, [this](int signal, int program) { pass_on(signal, program); },
        [&](std::string_view bytes) { messages.take(bytes); });
    messages.end();
    killed_ = messages.killed();
    failed_ = messages.failed();
    unreached_ = messages.unreached();
    return code;
  }

  static void give(std::string_view text) { write_output(Output::Error, text); }

  // mpirun would kill its workers a second after SIGTERM; it passes SIGUSR1 on to all of them, on any host.
  void pass_on(int signal, int program) {
    if (asked_) {
      say(fmt::format("{} again: the workers are killed", ::strsignal(signal)));
      ::kill(program, SIGTERM);
      return;
    }
    asked_ = true;
    say(fmt::format("{}: the workers stop after this step, with a checkpoint (once more: at once)",
                    ::strsignal(signal)));
    ::kill(program, SIGUSR1);
  }

  // Nothing that a second try would find: the same command fails until somebody does something.
  int nothing_began() const {
    say(fmt::format(
        "no worker was started: a host of --hosts {} cannot be reached (above is what ssh says of it)",
        arguments_.hosts));
    say("hint: `ssh HOST true` must work without a password, and bora lie at the same path on every host; --verbose "
        "shows mpirun's words");
    return exit_code(ErrorKind::Io);
  }
  int stopped() const {
    if (!quiet_) say("stopped; the same command goes on");
    return exit_code(ErrorKind::Stopped);
  }
  int no_restart_left(int code) const {
    if (arguments_.restarts > 0)
      say(fmt::format("{}; no restart is left of {}", what_happened(code), arguments_.restarts));
    else if (lost_a_worker(code))
      say(fmt::format(
          "{}; the same command goes on from the newest checkpoint (--restarts N does it by itself)",
          what_happened(code)));
    return lost_a_worker(code) ? exit_code(ErrorKind::Stopped) : code;
  }

  LaunchArguments arguments_;
  Supervision supervision_;
  std::string mpirun_;
  std::string killed_, failed_;  // the rank that failed first, in the attempt before, if mpirun named it
  bool quiet_;
  bool unreached_ = false;
  bool asked_ = false;  // to stop
};

}  // namespace

std::int64_t threads_of_each(const LaunchArguments& arguments, std::int64_t workers, const Cores& cores) {
  if (arguments.threads > 0) return arguments.threads;
  for (const std::string_view word : arguments.command) {
    constexpr std::string_view kFlag = "--trainer.threads=";
    if (word.starts_with(kFlag)) return parse_int(word.substr(kFlag.size())).value_or(0);
  }
  if (!arguments.hosts.empty()) return 0;
  return std::max<std::int64_t>(1, cores.allowed / workers);
}

std::vector<std::string> mpirun_options(const LaunchArguments& arguments, std::int64_t workers,
                                        const Cores& cores, bool root, bool stays_here) {
  std::vector<std::string> out = {"-n", std::to_string(workers), "--oversubscribe"};
  if (root) out.emplace_back("--allow-run-as-root");
  if (!arguments.hosts.empty()) out.insert(out.end(), {"--host", arguments.hosts});
  for (const char* part : {"oob", "btl"})
    if (stays_here) out.insert(out.end(), {"--mca", fmt::format("{}_tcp_if_include", part), "127.0.0.0/8"});
  const auto threads = threads_of_each(arguments, workers, cores);
  // mpirun does not know that this process may use some of the cores only.
  const bool room =
      !arguments.hosts.empty() || (cores.allowed == cores.online && threads * workers <= cores.online);
  if (arguments.no_pin || threads == 0 || !room)
    out.insert(out.end(), {"--bind-to", "none"});
  else
    out.insert(out.end(), {"--use-hwthread-cpus", "--map-by", fmt::format("slot:PE={}", threads), "--bind-to",
                           "hwthread"});
  for (const char* name : {kLaunched, "BORA_THREADS"}) {
    if (name == kLaunched || threads > 0) out.insert(out.end(), {"-x", name});
  }
  return out;
}

LaunchEnd end_of_attempt(int code, bool stop_asked) {
  if (code == 0) return LaunchEnd::finished;
  if (code == kStoppedInOrder) return LaunchEnd::stopped;
  // What lies with the command line, the configuration, the data or the training itself fails again.
  const bool for_good = code == exit_code(ErrorKind::Config) || code == exit_code(ErrorKind::Corruption) ||
                        code == exit_code(ErrorKind::NonFinite) || code == 126 || code == 127;
  if (for_good) return LaunchEnd::failed;
  return stop_asked ? LaunchEnd::stopped : LaunchEnd::again;
}

std::string launched_by() { return env::launcher(kLaunched).value_or(""); }

int orderly_stop_code() { return env::launcher(kLaunched) ? kStoppedInOrder : exit_code(ErrorKind::Stopped); }

int launch(LaunchArguments arguments, bool quiet) { return Launch(std::move(arguments), quiet)(); }

}  // namespace bora::run
