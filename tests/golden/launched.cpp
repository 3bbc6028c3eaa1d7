// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "launched.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora::golden {
namespace {

// Files of /proc tell no size.
std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

pid_t parent_of(const std::string& number) {
  const auto stat = slurp("/proc/" + number + "/stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& name : files().list("/proc")) {
    const auto number = parse_int(name);
    if (number && parent_of(name) == parent) out.push_back(static_cast<pid_t>(*number));
  }
  return out;
}

int rank_of(pid_t worker) {
  constexpr std::string_view kName = "OMPI_COMM_WORLD_RANK=";
  for (const auto& variable : split(slurp("/proc/" + std::to_string(worker) + "/environ"), '\0'))
    if (variable.starts_with(kName))
      return static_cast<int>(parse_int(variable.substr(kName.size())).value_or(-1));
  return -1;
}

}  // namespace

bool is_running(pid_t process) {
  const auto stat = slurp("/proc/" + std::to_string(process) + "/stat");  // "12 (name of any kind) S 1 ..."
  const auto name_ends = stat.rfind(')');
  return name_ends != stat.npos && name_ends + 2 < stat.size() && stat[name_ends + 2] != 'Z';
}

Launched::Launched(const std::string& folder, int workers, const std::vector<std::string>& options,
                   const std::vector<std::string>& arguments)
    : folder_(folder) {
  std::vector<std::string> line = {"env",      kLeaksOfMpi, BORA_PROGRAM,
                                   "launch",   "-n",        std::to_string(workers),
                                   "--no-pin", "--threads", "1"};
  line.insert(line.end(), options.begin(), options.end());
  line.emplace_back("--");
  line.insert(line.end(), arguments.begin(), arguments.end());
  const auto log = folder + "/output.txt";
  pid_ = ::fork();
  if (pid_ != 0) return;
  const int out = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644);
  if (out < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0 || ::chdir(folder.c_str()) != 0) ::_exit(126);
  std::vector<char*> argv;
  for (auto& a : line) argv.push_back(a.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

Launched::~Launched() {
  if (ended()) return;
  for (const auto& [rank, worker] : workers()) ::kill(worker, SIGKILL);
  ::kill(pid_, SIGKILL);
  wait();
}

std::map<int, pid_t> Launched::workers() const {
  std::map<int, pid_t> out;
  for (const auto mpirun : children_of(pid_))
    for (const auto worker : children_of(mpirun))
      if (const int rank = rank_of(worker); rank >= 0) out[rank] = worker;
  return out;
}

std::vector<pid_t> Launched::started() const {
  auto out = children_of(pid_);
  for (const auto& [rank, worker] : workers()) out.push_back(worker);
  return out;
}

bool Launched::ended() const {
  if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return reaped_;
}

bool Launched::wait_until(bool (*done)(const Launched&, int), int argument) const {
  for (int i = 0; i < 6000 && !ended(); ++i) {
    if (done(*this, argument)) return true;
    ::usleep(10000);
  }
  return false;
}

bool Launched::wait_for_workers(int count) const {
  return wait_until(
      [](const Launched& l, int n) { return l.workers().size() >= static_cast<std::size_t>(n); }, count);
}

pid_t Launched::worker(int rank) const {
  for (int i = 0; i < 6000 && !ended(); ++i) {
    const auto all = workers();
    if (const auto found = all.find(rank); found != all.end()) return found->second;
    ::usleep(10000);
  }
  throw std::runtime_error("no worker of rank " + std::to_string(rank));
}

bool Launched::wait_for_step(int step) const {
  return wait_until([](const Launched& l, int n) { return newest_step(l.folder_) >= n; }, step);
}

Finished Launched::wait() {
  if (!ended()) {
    ::waitpid(pid_, &status_, 0);
    reaped_ = true;
  }
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
          read_text(folder_ + "/output.txt")};
}

int newest_step(const std::string& folder) {
  int newest = -1;
  const auto run = folder + "/runs/run";
  if (!exists(run)) return newest;
  for (const auto& name : files().list(run))
    if (name.starts_with("step-"))
      newest = std::max(newest, static_cast<int>(parse_int(name.substr(5)).value_or(-1)));
  return newest;
}

}  // namespace bora::golden
