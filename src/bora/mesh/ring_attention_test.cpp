// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention whose queries and keys several workers share, against one worker: value and every gradient, and
// what travels for it.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "bora/core/attention.h"
#include "bora/core/create.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh {
namespace {

using core::Collectives;
using core::DType;
using testing::borrowed;
using testing::Case;
using testing::Outcome;
using testing::Result;
using testing::run;

constexpr std::int64_t kBatch = 2, kPositions = 32, kHeads = 2, kDim = 4;

struct Variant {
  std::string name;
  core::AttentionRule rule = {};
  bool segments = false;
  DType type = DType::f32;
  bool slopes = false, sinks = false;
};

Case attention_case(const Variant& variant) {
  return {variant.name,
          {{{"b", "p", "h", "g", "d"}, {kBatch, kPositions, kHeads, 2, kDim}},
           {{"b", "k", "h", "d"}, {kBatch, kPositions, kHeads, kDim}},
           {{"b", "k", "h", "d"}, {kBatch, kPositions, kHeads, kDim}},
           {{"g", "h"}, {2, kHeads}}},
          [variant](auto in) {
            static constexpr std::string_view kBp[] = {"b", "p"};
            auto rule = variant.rule;
            if (variant.segments) {
              std::vector<std::int32_t> ids;
              for (int i = 0; i < kBatch * kPositions; ++i)
                ids.push_back((i % static_cast<int>(kPositions) + 5 * i / 32) / 7);
              static constexpr std::int64_t kSizes[] = {kBatch, kPositions};
              rule.query_segments = core::from_data({kBp, kSizes}, std::span<const std::int32_t>(ids));
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
                          testing::NameList(in[0].names.begin(), in[0].names.end())};
          }};
}

std::vector<Variant> variants() {
  std::vector<Variant> out{{"causal"}, {"full"}, {"window"}, {"wide window"}, {"window, not causal"}};
  out[1].rule.causal = false;
  out[2].rule.window = 3;
  out[3].rule.window = 11;
  out[4].rule = {.causal = false, .window = 6};
  out.push_back({"soft cap", {.scale = 0.7, .soft_cap = 2}});
  out.push_back({"segments", {}, true});
  out.push_back({"segments in a window, not causal", {.causal = false, .window = 9}, true});
  out.push_back({"keys before the first query", {.offset = 9}});
  out.push_back({"queries that see no key", {.offset = -9}});
  out.push_back({"queries after all keys in the window", {.offset = 20, .window = 4}});
  out.push_back({"in 16 bits", {}, false, DType::bf16});
  out.push_back({"slopes in a window", {.window = 11}, false, DType::f32, true});
  out.push_back({"sinks", {}, false, DType::f32, false, true});
  out.push_back(
      {"sinks that some queries see alone", {.offset = -9, .window = 4}, false, DType::f32, false, true});
  return out;
}

float error_of(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return std::numeric_limits<float>::infinity();
  float largest = 1, worst = 0;
  for (const float w : want) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i])) return got[i];
    worst = std::max(worst, std::abs(got[i] - want[i]) / largest);
  }
  return worst;
}

const std::vector<core::AxisRule> kPositionsInBlocks{{"p", "context"}, {"k", "context"}},
    kHeadsToo{{"h", "model"}, {"p", "context"}, {"k", "context"}};

TEST(RingAttention, LikeOneWorker) {
  struct Layout {
    MeshShape shape;
    std::vector<core::AxisRule> rules;
  };
  const Layout layouts[] = {{{.context = 2}, kPositionsInBlocks},
                            {{.context = 4}, kPositionsInBlocks},
                            {{.context = 2, .model = 2}, kHeadsToo}};
  for (const auto& variant : variants()) {
    const Case c = attention_case(variant);
    const Outcome want = run(c);
    const bool narrow = variant.type != DType::f32;
    for (const auto& layout : layouts) {
      std::mutex mutex;
      const auto errors = testing::run_workers({.count = layout.shape.workers()}, [&](Communicator& workers) {
        const Mesh mesh(borrowed(workers), layout.shape, {layout.rules, layout.rules});
        const core::MappingScope scope(mesh.mapping());
        const Outcome got = run(c);
        const std::lock_guard lock(mutex);
        const std::string text =
            fmt::format("{}, context {} model {}", c.name, layout.shape.context, layout.shape.model);
        EXPECT_LE(error_of(got.value, want.value), narrow ? 1e-2F : 1e-6F) << text;
        for (std::size_t i = 0; i < want.gradients.size(); ++i)
          EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), narrow ? 2e-2F : 2e-6F) << text << i;
      });
      for (const auto& e : errors) EXPECT_EQ(e, "") << c.name;
    }
  }
}

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
void expect_blocks(const Variant& variant, const Blocks& forward, const Blocks& in_all) {
  std::mutex mutex;
  Case c = attention_case(variant);
  const std::size_t width = variant.type == DType::f32 ? 4 : 2;
  const std::size_t block = 2 * kBatch * kPositions / 4 * kHeads * kDim * width;
  const auto errors = testing::run_workers({.count = 4}, [&](Communicator& workers) {
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

// Backward, keys and values come once more, and the gradients of the own shard from all who have seen it.
TEST(RingAttention, BlocksGoNoFurtherThanTheyAreSeen) {
  expect_blocks({"full", {.causal = false}}, {3, 3, 3, 3}, {9, 9, 9, 9});
  expect_blocks({"causal"}, {0, 1, 2, 3}, {3, 4, 5, 6});
  expect_blocks({"causal in 16 bits", {}, false, DType::bf16}, {0, 1, 2, 3}, {3, 4, 5, 6});
  expect_blocks({"window of a block", {.window = 9}}, {0, 1, 1, 1}, {1, 3, 3, 2});
  expect_blocks({"window of more", {.window = 10}}, {0, 1, 2, 2}, {2, 4, 5, 4});
  expect_blocks({"nothing is seen", {.offset = -40}}, {0, 0, 0, 0}, {0, 0, 0, 0});
}

// Other lengths of queries and keys have no common blocks: keys are gathered.
TEST(RingAttention, OtherNumberOfKeysIsGathered) {
  const Case c{"more keys",
               {{{"b", "p", "h", "d"}, {2, 8, 2, 4}},
                {{"b", "k", "h", "d"}, {2, 16, 2, 4}},
                {{"b", "k", "h", "d"}, {2, 16, 2, 4}}},
               [](auto in) {
                 return Result{core::attention(in[0], in[1], in[2], {"p", "k", "d"}, {.offset = 8}),
                               {"b", "p", "h", "d"}};
               }};
  const Outcome want = run(c);
  const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
    Counted counted(workers);
    const core::Mapping mapping({{"context", &counted}}, kPositionsInBlocks, kPositionsInBlocks);
    const core::MappingScope scope(&mapping);
    const Outcome got = run(c);
    EXPECT_EQ(counted.received, 0U);
    EXPECT_EQ(counted.scatters, 2);
    EXPECT_LE(error_of(got.value, want.value), 1e-6F);
    for (std::size_t i = 0; i < want.gradients.size(); ++i)
      EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), 2e-6F);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

}  // namespace
}  // namespace bora::mesh
