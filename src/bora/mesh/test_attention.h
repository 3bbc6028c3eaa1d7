// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention whose queries and keys several workers share: its cases, and what travels for it.
#pragma once
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "bora/core/attention.h"
#include "bora/core/create.h"
#include "bora/mesh/collectives.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh::testing {

using core::Collectives;
using core::DType;

inline constexpr std::int64_t kBatch = 2, kPositions = 32, kHeads = 2;

struct Variant {
  std::string name;
  core::AttentionRule rule = {};
  bool segments = false;
  DType type = DType::f32;
  bool slopes = false, sinks = false;
  std::int64_t dim = 4;
  int document = 7;  ///< positions of a segment
};

inline Case attention_case(const Variant& variant) {
  return {variant.name,
          {{{"b", "p", "h", "g", "d"}, {kBatch, kPositions, kHeads, 2, variant.dim}},
           {{"b", "k", "h", "d"}, {kBatch, kPositions, kHeads, variant.dim}},
           {{"b", "k", "h", "d"}, {kBatch, kPositions, kHeads, variant.dim}},
           {{"g", "h"}, {2, kHeads}}},
          [variant](auto in) {
            static constexpr std::string_view kBp[] = {"b", "p"};
            auto rule = variant.rule;
            if (variant.segments) {
              std::vector<std::int32_t> ids;
              for (int i = 0; i < kBatch * kPositions; ++i)
                ids.push_back((i % static_cast<int>(kPositions) + 5 * i / 32) / variant.document);
              static constexpr std::int64_t kSizes[] = {kBatch, kPositions};
              rule.query_segments = core::from_segments({kBp, kSizes}, std::span<const std::int32_t>(ids));
              rule.key_segments = rule.query_segments;
              rule.segment_names = {"b", "p"};
            }
            if (variant.slopes) {
              static constexpr std::string_view kHg[] = {"g", "h"};
              static constexpr std::int64_t kSizes[] = {2, kHeads};
              static constexpr float kSlopes[] = {0.5F, 0.0625F, 0.25F, 0.75F};
              rule.slopes = core::from_data({kHg, kSizes}, std::span<const float>(kSlopes));
              rule.slope_names = {"g", "h"};
            }
            if (variant.sinks) {
              rule.sinks = in[3].array;
              rule.sink_names = {"g", "h"};
            }
            const auto narrow = [&](const core::Operand& x) { return core::cast(x, variant.type); };
            const core::Array q = narrow(in[0]), k = narrow(in[1]), v = narrow(in[2]);
            const core::Array out =
                core::attention({q, in[0].names}, {k, in[1].names}, {v, in[2].names}, {"p", "k", "d"}, rule);
            return Result{core::cast({out, in[0].names}, DType::f32),
                          NameList(in[0].names.begin(), in[0].names.end())};
          }};
}

inline const std::vector<core::AxisRule> kPositionsInBlocks{{"p", "context"}, {"k", "context"}},
    kHeadsToo{{"h", "model"}, {"p", "context"}, {"k", "context"}};

/// Counts what comes, and who is asked for it.
class Counted final : public Collectives {
 public:
  explicit Counted(Communicator& workers) : real_(borrowed(workers)) {}
  std::size_t received = 0;  // in pass_on
  int gathers = 0, scatters = 0;

  int size() const override { return real_.size(); }
  int rank() const override { return real_.rank(); }
  void all_reduce(DType type, std::span<std::byte> values, Combine how) override {
    real_.all_reduce(type, values, how);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++gathers;
    real_.all_gather(mine, all);
  }
  void all_reduce(core::Array& values, Combine how) override { real_.all_reduce(values, how); }
  void all_gather(const core::Array& mine, core::Array& all) override {
    ++gathers;
    real_.all_gather(mine, all);
  }
  void reduce_scatter(const core::Array& all, core::Array& mine) override {
    ++scatters;
    real_.reduce_scatter(all, mine);
  }
  void start_passes(std::span<const Pass> passes) override {
    for (const auto& p : passes)
      if (!p.in.empty()) received += static_cast<std::size_t>(p.in.numel()) * core::bytes(p.in.dtype());
    real_.start_passes(passes);
  }
  void finish_passes() override { real_.finish_passes(); }
  void progress() noexcept override { real_.progress(); }

 private:
  AxisCollectives real_;
};

// Blocks of keys and values that each of four workers receives, forward and in all, for one attention.
using Blocks = std::vector<int>;
inline void expect_blocks(const Variant& variant, const Blocks& forward, const Blocks& in_all) {
  std::mutex mutex;
  Case c = attention_case(variant);
  const std::size_t width = variant.type == DType::f32 ? 4 : 2;
  const std::size_t block = 2 * kBatch * kPositions / 4 * kHeads * variant.dim * width;
  const auto errors = run_workers({.count = 4}, [&](Communicator& workers) {
    Counted counted(workers);
    const core::Mapping mapping({{"context", &counted}}, kPositionsInBlocks, kPositionsInBlocks);
    const core::MappingScope scope(&mapping);
    Case here = c;
    std::size_t after_forward = 0;
    here.op = [&](std::span<const core::Operand> in) {
      const auto result = c.op(in);
      after_forward = counted.received;
      EXPECT_EQ(counted.gathers, 0) << c.name;
      return result;
    };
    run(here);
    const std::lock_guard lock(mutex);
    const auto me = static_cast<std::size_t>(workers.rank());
    EXPECT_EQ(after_forward, static_cast<std::size_t>(forward[me]) * block) << c.name << ", worker " << me;
    EXPECT_EQ(counted.received, static_cast<std::size_t>(in_all[me]) * block) << c.name << ", worker " << me;
    EXPECT_EQ(counted.scatters, 0) << c.name;
  });
  for (const auto& e : errors) EXPECT_EQ(e, "") << c.name;
}

}  // namespace bora::mesh::testing
