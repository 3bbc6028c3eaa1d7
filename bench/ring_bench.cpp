// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention of sequences in shards over workers, forward and backward: keys and values round a ring, against
// keys and values gathered before it.
//
//   mpirun -n 2 ring_bench [--positions 8192] [--batch 1] [--heads 8] [--kv_heads 4] [--head_dim 64]
//                          [--window 0] [--causal 1] [--rounds 5] [--way both|ring|gathered]
//
// One JSON line. Both ways: milliseconds (medians, and the best rounds), and ring / gathered; rounds
// alternate, and a round's time is that of its slowest worker. One way alone: also what it added to the
// largest memory of any worker. Each worker has one thread.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/core/attention.h"
#include "bora/core/create.h"
#include "bora/core/grad.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/reduce.h"
#include "bora/core/shard.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/mpi_plugin.h"

namespace bora::mesh {
namespace {

using core::Array;

struct Settings {
  std::int64_t positions = 8192, batch = 1, heads = 8, kv_heads = 4, head_dim = 64, window = 0, causal = 1,
               rounds = 5;
  std::string way = "both";
};

constexpr std::string_view kQuery[] = {"batch", "position", "kv_head", "group", "head_dim"},
                           kKey[] = {"batch", "key_position", "kv_head", "head_dim"};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

double largest_of_all(Communicator& c, double mine) {
  std::vector<double> all(static_cast<std::size_t>(c.size()));
  c.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return *std::max_element(all.begin(), all.end());
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// This worker's shard alone is ever touched.
Array made(core::Names names, const std::vector<std::int64_t>& sizes, std::uint32_t seed) {
  Array x = core::uninitialized({names, sizes});
  core::place_parameter(x, names);
  auto* values = core::local_data<float>(x);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1;
  }
  return x;
}

/// One way, with its inputs.
class Attention {
 public:
  // Keys in shards along their heads are gathered, and their gradients scattered, as keys in shards along
  // positions would be without a ring.
  Attention(const std::shared_ptr<Communicator>& c, const Settings& s, bool ring)
      : settings_(s),
        mesh_(c, {.context = c->size()},
              {{{"position", "context"}},
               {{"position", "context"}, {ring ? "key_position" : "kv_head", "context"}}}) {
    const core::MappingScope scope(mesh_.mapping());
    const auto seed = static_cast<std::uint32_t>(c->rank());
    query_ = made(kQuery, {s.batch, s.positions, s.kv_heads, s.heads / s.kv_heads, s.head_dim}, seed);
    key_ = made(kKey, {s.batch, s.positions, s.kv_heads, s.head_dim}, seed + 100);
    value_ = made(kKey, {s.batch, s.positions, s.kv_heads, s.head_dim}, seed + 200);
  }

  /// Seconds of the slowest worker.
  double run() {
    auto& c = *mesh_.world();
    c.barrier();
    const double began = monotonic_seconds();
    const core::MappingScope scope(mesh_.mapping());
    core::value_and_grad(std::vector<Array*>{&query_, &key_, &value_}, [&] {
      core::AttentionRule rule;
      rule.causal = settings_.causal != 0;
      rule.window = settings_.window;
      const Array out = core::attention({query_, kQuery}, {key_, kKey}, {value_, kKey},
                                        {"position", "key_position", "head_dim"}, rule);
      return core::whole({core::reduce(core::Reduction::sum, {out, kQuery}, kQuery), {}});
    });
    return largest_of_all(c, monotonic_seconds() - began);
  }

 private:
  Settings settings_;
  Mesh mesh_;
  Array query_, key_, value_;
};

void bench_one(const std::shared_ptr<Communicator>& c, const Settings& s) {
  Attention attention(c, s, s.way == "ring");
  const double before = peak_megabytes();
  attention.run();
  const double added = largest_of_all(*c, peak_megabytes() - before);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < s.rounds; ++i) seconds.push_back(attention.run());
  if (c->rank() != 0) return;
  fmt::print(
      R"({{"case":"attention","workers":{},"positions":{},"window":{},"causal":{},"way":"{}","ms":{:.1f},)"
      R"("added_mb":{:.1f}}})"
      "\n",
      c->size(), s.positions, s.window, s.causal, s.way, median(seconds) * 1e3, added);
}

void bench_both(const std::shared_ptr<Communicator>& c, const Settings& s) {
  Attention ring(c, s, true), gathered(c, s, false);
  std::vector<double> ring_seconds, gathered_seconds, ratios;
  for (std::int64_t i = -1; i < s.rounds; ++i) {
    const double r = ring.run(), g = gathered.run();
    if (i < 0) continue;  // the first touches memory
    ring_seconds.push_back(r), gathered_seconds.push_back(g), ratios.push_back(r / g);
  }
  if (c->rank() != 0) return;
  fmt::print(R"({{"case":"attention","workers":{},"positions":{},"window":{},"causal":{},"way":"both",)"
             R"("ring_ms":{:.1f},"gathered_ms":{:.1f},"ratio":{:.3f},)"
             R"("best_ring_ms":{:.1f},"best_gathered_ms":{:.1f},"rounds":{}}})"
             "\n",
             c->size(), s.positions, s.window, s.causal, median(ring_seconds) * 1e3,
             median(gathered_seconds) * 1e3, median(ratios), least(ring_seconds) * 1e3,
             least(gathered_seconds) * 1e3, ratios.size());
}

int run(int count, char** words) {
  Settings s;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view option = words[i];
    const std::int64_t value = std::max(0LL, std::atoll(words[i + 1]));
    if (option == "--positions") s.positions = value;
    if (option == "--batch") s.batch = value;
    if (option == "--heads") s.heads = value;
    if (option == "--kv_heads") s.kv_heads = value;
    if (option == "--head_dim") s.head_dim = value;
    if (option == "--window") s.window = value;
    if (option == "--causal") s.causal = value;
    if (option == "--rounds") s.rounds = std::max<std::int64_t>(1, value);
    if (option == "--way") s.way = words[i + 1];
  }
  const std::shared_ptr<Communicator> workers =
      make_communicator(launch_environment(), {.mpi_library = BORA_MPI_LIBRARY});
  if (workers->size() == 1) {
    fmt::print(stderr,
               "usage: mpirun -n 2 ring_bench [--positions 8192] [--batch 1] [--heads 8] [--kv_heads 4] "
               "[--head_dim 64] [--window 0] [--causal 1] [--rounds 5] [--way both|ring|gathered]\n");
    return 2;
  }
  kernels::set_threads(1);
  s.way == "both" ? bench_both(workers, s) : bench_one(workers, s);
  return 0;
}

}  // namespace
}  // namespace bora::mesh

int main(int argc, char** argv) { return bora::mesh::run(argc, argv); }
