// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the fixed tree costs between workers: Bora's reduce-scatter and all-gather against MPI's own.
//
//   mpirun -n 4 collectives_bench [--megabytes 64] [--rounds 9] [--arrays 16] [--messages 0] [--buffer 0]
//
// One JSON line: milliseconds of both halves by both, and ours / MPI's for their sum. Rounds alternate
// between the two; a round's time is that of its slowest worker; the ratio is the median of the rounds' own.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/core/create.h"
#include "bora/mesh/mpi_plugin.h"
#include "bora/mesh/tree_reduce.h"

namespace bora::mesh {
namespace {

struct Settings {
  std::int64_t megabytes = 64, rounds = 9, arrays = 16, messages = 0, buffer = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds of the slowest worker.
double timed(Communicator& c, const std::function<void()>& work) {
  c.barrier();
  const double began = monotonic_seconds();
  work();
  const double mine = monotonic_seconds() - began;
  std::vector<double> all(static_cast<std::size_t>(c.size()));
  c.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return *std::max_element(all.begin(), all.end());
}

void bench(Communicator& c, const Settings& settings) {
  const auto size = static_cast<std::size_t>(c.size());
  const std::int64_t each = settings.megabytes * 250000 / settings.arrays / c.size() * c.size();
  constexpr std::string_view kAxis[] = {"x"};
  const std::int64_t sizes[] = {each};
  std::vector<core::Array> arrays;
  for (std::int64_t i = 0; i < settings.arrays; ++i) arrays.push_back(core::ones({kAxis, sizes}));
  std::vector<const core::Array*> like;
  for (const auto& array : arrays) like.push_back(&array);
  TreeReduce reducer(c, like, {.buffer_bytes = settings.buffer, .shared_memory = settings.messages == 0});

  std::int64_t lanes = 1;
  while (lanes < c.size()) lanes *= 2;
  const auto own = owned_lanes(c.rank(), c.size(), lanes);
  const auto tree_of = [&] {
    LaneTree tree(lanes, arrays.size());
    for (auto lane = own.first; lane < own.first + own.lanes; ++lane) {
      auto& buffer = tree.buffer_for(lane);
      for (std::size_t i = 0; i < buffer.size(); ++i) {
        if (lane == own.first)
          buffer[i] = arrays[i];
        else if (buffer[i].empty())
          buffer[i] = arrays[i].clone();
      }
      tree.finish(lane, {});
    }
    return tree;
  };
  const auto all = static_cast<std::size_t>(each * settings.arrays);
  std::vector<float> whole(all, 1), shard(all / size);
  const int part = static_cast<int>(shard.size());

  std::vector<double> scatter, gather, mpi_scatter, mpi_gather, ratios;
  for (std::int64_t round = -2; round < settings.rounds; ++round) {
    auto tree = tree_of();
    LaneSum sum;
    const double s = timed(c, [&] { sum = reducer.reduce_scatter(tree); });
    const double g = timed(c, [&] { reducer.all_gather(sum.arrays); });
    const double ms = timed(c, [&] {
      MPI_Reduce_scatter_block(whole.data(), shard.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    });
    const double mg = timed(c, [&] {
      MPI_Allgather(shard.data(), part, MPI_FLOAT, whole.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
    });
    if (round < 0) continue;  // the first ones touch memory
    scatter.push_back(s), gather.push_back(g), mpi_scatter.push_back(ms), mpi_gather.push_back(mg);
    ratios.push_back((s + g) / (ms + mg));
  }
  if (c.rank() != 0) return;
  fmt::print(R"({{"case":"reduce_scatter + all_gather","workers":{},"megabytes":{},"arrays":{},"path":"{}",)"
             R"("reduce_scatter_ms":{:.3f},"all_gather_ms":{:.3f},"mpi_reduce_scatter_ms":{:.3f},)"
             R"("mpi_all_gather_ms":{:.3f},"ratio":{:.3f},"rounds":{}}})"
             "\n",
             c.size(), settings.megabytes, settings.arrays, settings.messages == 0 ? "shared" : "messages",
             median(scatter) * 1e3, median(gather) * 1e3, median(mpi_scatter) * 1e3, median(mpi_gather) * 1e3,
             median(ratios), ratios.size());
}

int run(int count, char** words) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view option = words[i];
    const std::int64_t value = std::max(0LL, std::atoll(words[i + 1]));
    if (option == "--megabytes") settings.megabytes = std::max<std::int64_t>(1, value);
    if (option == "--rounds") settings.rounds = std::max<std::int64_t>(1, value);
    if (option == "--arrays") settings.arrays = std::max<std::int64_t>(1, value);
    if (option == "--messages") settings.messages = value;
    if (option == "--buffer") settings.buffer = value;
  }
  const auto communicator = make_communicator(launch_environment(), {.mpi_library = BORA_MPI_LIBRARY});
  if (communicator->size() == 1) {
    fmt::print(stderr,
               "usage: mpirun -n 4 collectives_bench [--megabytes 64] [--rounds 9] [--arrays 16] "
               "[--messages 0] [--buffer 0]\n");
    return 2;
  }
  bench(*communicator, settings);
  return 0;
}

}  // namespace
}  // namespace bora::mesh

int main(int argc, char** argv) { return bora::mesh::run(argc, argv); }
