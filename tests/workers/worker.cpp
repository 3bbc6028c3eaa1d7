// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One worker of the runs in workers_test.cpp. The number of workers comes from the launcher.
//
//   worker bits                  every collective; prints a hash of sums over lanes, by worker 0
//   worker kill|stop|fail        worker 1 is killed, stopped or fails in the third step; deadline 3 s
#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/mesh/mpi_plugin.h"
#include "bora/mesh/tree_reduce.h"

namespace bora::mesh {
namespace {

constexpr std::string_view kAxis[] = {"x"};
constexpr std::int64_t kSizes[] = {200000, 5, 16385, 70001};
constexpr std::int64_t kLanes = 8;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

void require(bool right, std::string_view what) {
  if (!right) fail(ErrorKind::Corruption, "{}: wrong bytes", what);
}

core::Array make(std::int64_t lane, std::size_t array, int step) {
  const std::int64_t sizes[] = {kSizes[array]};
  const auto key = Key::from_seed(1)
                       .fold(static_cast<std::uint64_t>(lane))
                       .fold(array)
                       .fold(static_cast<std::uint64_t>(step));
  return core::random_normal(key, {kAxis, sizes});
}

LaneSum sum_lanes(Communicator& c, TreeReduce& reducer, int step) {
  const auto own = owned_lanes(c.rank(), c.size(), kLanes);
  LaneTree tree(kLanes, std::size(kSizes));
  for (auto lane = own.first; lane < own.first + own.lanes; ++lane) {
    auto& buffer = tree.buffer_for(lane);
    for (std::size_t a = 0; a < buffer.size(); ++a) {
      const auto values = make(lane, a, step);
      if (buffer[a].empty())
        buffer[a] = values;
      else
        for (std::int64_t i = 0; i < kSizes[a]; ++i) buffer[a].data<float>()[i] += values.data<float>()[i];
    }
    tree.finish(lane, std::vector<double>{0.1 * static_cast<double>(lane)});
  }
  return reducer.reduce(tree);
}

std::string hash_of(const LaneSum& sum) {
  std::string bytes;
  for (const auto& array : sum.arrays)
    bytes.append(reinterpret_cast<const char*>(array.data<float>()), index(array.numel()) * 4);
  bytes.append(reinterpret_cast<const char*>(sum.scalars.data()), sum.scalars.size() * 8);
  return hash128(bytes).hex();
}

std::vector<core::Array> parameters() {
  std::vector<core::Array> arrays;
  for (std::size_t a = 0; a < std::size(kSizes); ++a) arrays.push_back(make(0, a, 0));
  return arrays;
}

std::string sums(Communicator& c, const ReduceOptions& options) {
  const auto arrays = parameters();
  std::vector<const core::Array*> like;
  for (const auto& a : arrays) like.push_back(&a);
  TreeReduce reducer(c, like, options);
  std::string hashes;
  for (int step = 0; step < 2; ++step) hashes += " " + hash_of(sum_lanes(c, reducer, step));
  const auto all = c.all_gather_unequal(std::as_bytes(std::span(hashes)));
  for (const auto& other : all)
    require(std::memcmp(other.data(), hashes.data(), hashes.size()) == 0, "sums of all workers");
  return hashes;
}

std::vector<int> gathered(Communicator& c, int mine) {
  std::vector<int> all(index(c.size()));
  c.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

void collectives(Communicator& c) {
  for (const std::size_t n : {1, 1000, 500000}) {
    for (int from = 0; from < c.size(); ++from) {
      std::vector<int> values(n, c.rank());
      c.broadcast(from, std::as_writable_bytes(std::span(values)));
      require(values.front() == from && values.back() == from, "broadcast");
    }
    if (c.size() == 1) continue;
    std::vector<int> out(n, c.rank()), in(n);
    const int to = (c.rank() + 1) % c.size(), from = (c.rank() + c.size() - 1) % c.size();
    const Message messages[] = {{to, std::as_bytes(std::span(out)), {}},
                                {from, {}, std::as_writable_bytes(std::span(in))}};
    c.exchange_all(messages);
    require(in.front() == from && in.back() == from, "exchange_all");
  }
  const auto all = gathered(c, 7 * c.rank());
  for (int w = 0; w < c.size(); ++w) require(all[index(w)] == 7 * w, "all_gather");
  const std::string mine(index(c.rank() * 100000), static_cast<char>('a' + c.rank()));
  const auto blocks = c.all_gather_unequal(std::as_bytes(std::span(mine)));
  for (int w = 0; w < c.size(); ++w)
    require(blocks[index(w)].size() == index(w * 100000), "all_gather_unequal");

  const auto part = c.split(c.rank() % 2, -c.rank());
  const auto ranks = gathered(*part, c.rank());
  for (int i = 0; i + 1 < part->size(); ++i) require(ranks[index(i)] == ranks[index(i + 1)] + 2, "split");
  const auto memory = part->share(64);
  memory->of(part->rank())[5] = static_cast<std::byte>(c.rank());
  part->barrier();
  for (int i = 0; i < part->size(); ++i) {
    require(static_cast<int>(memory->of(i)[5]) == ranks[index(i)], "shared memory");
    require(reinterpret_cast<std::uintptr_t>(memory->of(i).data()) % 64 == 0, "shared memory's alignment");
  }
}

int bits(Communicator& c) {
  collectives(c);
  const auto shared = sums(c, {}), messages = sums(c, {.shared_memory = false}),
             small = sums(c, {.buffer_bytes = 100000});
  require(shared == messages && shared == small, "ways to sum");
  if (c.rank() == 0) fmt::print("{}:{}\n", c.transport(), shared);
  return 0;
}

int suffer(Communicator& c, std::string_view how) {
  const auto arrays = parameters();
  std::vector<const core::Array*> like;
  for (const auto& a : arrays) like.push_back(&a);
  TreeReduce reducer(c, like);
  for (int step = 0; step < 1000; ++step) {
    c.activity(fmt::format("step {}: gradients", step));
    if (step == 2 && c.rank() == 1) {
      if (how == "fail") fail(ErrorKind::Corruption, "shard 7 is damaged");
      std::raise(how == "kill" ? SIGKILL : SIGSTOP);
    }
    sum_lanes(c, reducer, 0);
  }
  return 0;
}

int run(std::string_view how) {
  try {
    const auto c = make_communicator(launch_environment(), {.deadline_seconds = how == "bits" ? 60.0 : 3.0});
    return how == "bits" ? bits(*c) : suffer(*c, how);
  } catch (const Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return exit_code(e.kind());
  }
}

}  // namespace
}  // namespace bora::mesh

int main(int argc, char** argv) { return bora::mesh::run(argc > 1 ? argv[1] : "bits"); }
