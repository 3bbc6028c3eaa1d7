// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/launch.h"

#include <unistd.h>

#include <charconv>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::mesh {
namespace {

// The variables of one launcher. Rank and size come together; the local ones may be missing.
struct Family {
  Launcher launcher;
  const char *rank, *size, *local_rank, *local_size;
};
constexpr Family kOpenMpi{Launcher::mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                          "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Family kPmi{Launcher::mpirun, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Family kTorch{Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Family kSlurm{Launcher::srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

constexpr const char* kHint =
    "hint: start the workers with one of mpirun, srun and torchrun, or unset these variables";

[[noreturn]] void contradiction(const std::string& what) {
  fail(ErrorKind::Usage, "launch environment: {}\n{}", what, kHint);
}

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  std::optional<int> count(const char* name) const {
    const auto text = name ? variables_(name) : std::nullopt;
    if (!text) return std::nullopt;
    const auto value = parse_int(trim(*text));
    if (!value || *value < 0 || *value > 1 << 24)
      contradiction(fmt::format("{} should be a count but is \"{}\"", name, *text));
    return static_cast<int>(*value);
  }

  // Nothing if neither rank nor size is set.
  std::optional<LaunchEnvironment> family(const Family& f) const {
    const auto rank = count(f.rank), size = count(f.size);
    if (!rank && !size) return std::nullopt;
    if (!rank) contradiction(fmt::format("{} is {} but {} is not set", f.size, *size, f.rank));
    if (!size) contradiction(fmt::format("{} is {} but {} is not set", f.rank, *rank, f.size));
    LaunchEnvironment out{f.launcher, *rank, *size, 0, 1, {}};
    if (out.rank >= out.size)
      contradiction(fmt::format("{} is {} but {} is {}", f.rank, out.rank, f.size, out.size));
    place_on_host(f, out);
    return out;
  }

  bool has(const char* name) const { return variables_(name).has_value(); }
  std::string text(const char* name) const { return variables_(name).value_or(""); }

 private:
  void place_on_host(const Family& f, LaunchEnvironment& out) const {
    const auto rank = count(f.local_rank), size = count(f.local_size);
    out.local_rank = rank.value_or(0);
    out.local_size = size.value_or(out.local_rank + 1);
    if (size && out.local_rank >= *size)
      contradiction(fmt::format("{} is {} but {} is {}", f.local_rank, out.local_rank, f.local_size, *size));
    if (out.local_size > out.size)
      contradiction(fmt::format("{} is {} but {} is {}", size ? f.local_size : f.local_rank,
                                size ? *size : out.local_rank, f.size, out.size));
  }

  const Variables& variables_;
};

// Entry `node` of Slurm's list of tasks by node: "2(x3),1" is 2,2,2,1. 0 if there is none.
int tasks_of_node(std::string_view list, int node) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    auto entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    std::int64_t times = 1;
    if (const auto open = entry.find("(x"); open != entry.npos && entry.ends_with(')')) {
      times = parse_int(entry.substr(open + 2, entry.size() - open - 3)).value_or(1);
      entry = entry.substr(0, open);
    }
    if (node < times) return static_cast<int>(parse_int(entry).value_or(0));
    node -= static_cast<int>(times);
  }
  return 0;
}

// Without a step it is the batch script or an interactive shell that looks: nobody was started by srun.
std::optional<LaunchEnvironment> slurm(const Reader& read) {
  if (!read.has("SLURM_STEP_ID")) return std::nullopt;
  auto out = read.family(kSlurm);
  if (out)
    out->local_size = std::max(out->local_size, tasks_of_node(read.text("SLURM_STEP_TASKS_PER_NODE"),
                                                              read.count("SLURM_NODEID").value_or(0)));
  return out;
}

// Job scripts often set RANK or WORLD_SIZE themselves: right as long as they agree with the launcher.
void require_agreement(const Reader& read, const Family& family, const LaunchEnvironment& with,
                       const Family& other) {
  const auto rank = read.count(family.rank), size = read.count(family.size);
  if (rank && *rank != with.rank)
    contradiction(fmt::format("{} is {} but {} is {}", family.rank, *rank, other.rank, with.rank));
  if (size && *size != with.size)
    contradiction(fmt::format("{} is {} but {} is {}", family.size, *size, other.size, with.size));
}

LaunchEnvironment find(const Reader& read) {
  if (auto open_mpi = read.family(kOpenMpi)) {
    require_agreement(read, kTorch, *open_mpi, kOpenMpi);
    return *open_mpi;
  }
  const auto step = slurm(read);
  if (auto pmi = read.family(kPmi)) {
    if (step) {
      pmi->launcher = Launcher::srun;
      pmi->local_rank = step->local_rank, pmi->local_size = step->local_size;
    }
    require_agreement(read, kTorch, *pmi, kPmi);
    return *pmi;
  }
  // torchrun is often the one task that srun starts on each host; without it, srun's tasks are the workers.
  const bool torch_whole = read.has(kTorch.rank) && read.has(kTorch.size);
  if (step && !torch_whole) {
    require_agreement(read, kTorch, *step, kSlurm);
    return *step;
  }
  if (auto torch = read.family(kTorch)) return *torch;
  if (read.has("PMIX_RANK"))
    contradiction(
        fmt::format("PMIX_RANK is {} but no variable tells the number of workers", read.text("PMIX_RANK")));
  return {};
}

}  // namespace

std::string_view name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::none:
      return "none";
    case Launcher::mpirun:
      return "mpirun";
    case Launcher::srun:
      return "srun";
    case Launcher::torchrun:
      return "torchrun";
  }
  return "none";
}

LaunchEnvironment launch_environment(const Variables& variables) {
  auto out = find(Reader(variables));
  out.host = env::hostname().value_or("unknown host");
  return out;
}

LaunchEnvironment launch_environment() { return launch_environment(env::launcher); }

bool is_to_speak() {
  try {
    if (launch_environment().local_rank == 0) return true;
  } catch (const Error&) {
    return true;
  }
  ::sleep(1);
  return false;
}

}  // namespace bora::mesh
