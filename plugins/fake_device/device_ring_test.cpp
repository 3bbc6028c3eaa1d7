// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Keys and values that go round a ring of workers on a device, by kernels that keep no scores: value and every gradient
// against one worker, how often the kernels are asked, what travels, and memory. On a GPU (TEST_DEVICE=cuda), which all
// workers share, by its own kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "bora/core/device_kernels.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_attention.h"
#include "fake_device.h"

namespace bora::mesh {
namespace {

using namespace mesh::testing;
using fake_device::Attention;
using fake_device::AttentionBy;

const core::Device kThere = core::default_device();
const bool kCounted = kThere.type == core::Device::Type::test;

struct Ways {
  Attention how;
  std::string forward, backward;
};
const Ways kFlash{Attention::flash, "aten::_flash_attention_forward", "aten::_flash_attention_backward"},
    kLibrary{Attention::library, "library.forward", "library.backward"};

struct RingCase {
  Variant what;
  /// Blocks that all workers together see, of two and of four workers; 0: keys are gathered.
  std::int64_t of_two, of_four;
  bool flash_alone = false;
};
Variant in_16_bits(const std::string& name, const core::AttentionRule& rule = {}, DType type = DType::bf16,
                   int document = 0) {
  return {.name = name, .rule = rule, .segments = document > 0, .type = type, .dim = 8, .document = document};
}
std::vector<RingCase> ring_cases() {
  const core::AttentionRule all{.causal = false};
  return {
      {in_16_bits("causal"), 3, 10},
      {in_16_bits("all keys", all), 4, 16},
      {in_16_bits("scaled", {.scale = 0.7}), 3, 10},
      {in_16_bits("a window within a block", {.window = 3}), 3, 7},
      {in_16_bits("a window of more than a block", {.window = 11}), 3, 9},
      {in_16_bits("a window of all", {.window = 32}), 3, 10},
      {in_16_bits("a window that ends at a block", {.window = 9}), 3, 7},
      {in_16_bits("a window over all keys behind", {.causal = false, .window = 6}), 4, 13},
      {in_16_bits("documents", {}, DType::bf16, 7), 3, 10, true},
      {in_16_bits("documents over many blocks", {}, DType::bf16, 27), 3, 10, true},
      {in_16_bits("documents, all their keys", all, DType::bf16, 13), 4, 16, true},
      {in_16_bits("one document in a row", {}, DType::bf16, 1000), 3, 10},
      {in_16_bits("fp16", {}, DType::f16), 3, 10, true},
      {in_16_bits("documents in a window", {.window = 9}, DType::bf16, 7), 3, 7, true},
      {in_16_bits("documents in a window within a block", {.window = 3}, DType::bf16, 5), 3, 7, true},
      {in_16_bits("documents longer than a window", {.window = 11}, DType::bf16, 27), 3, 9, true},
      {in_16_bits("documents in a wide window", {.window = 20}, DType::bf16, 27), 3, 10, true},
      {in_16_bits("documents in a window, all keys behind", {.causal = false, .window = 6}, DType::bf16, 13),
       4, 13, true},
      {in_16_bits("a soft cap", {.soft_cap = 2}), 0, 0},
      {in_16_bits("fp32", {}, DType::f32), 0, 0}};
}

std::int64_t calls(const std::string& name) {
  const auto all = fake_device::operations_by_name();
  return all.contains(name) ? all.at(name) : 0;
}

// Each worker's values and gradients, which are whole.
std::vector<Outcome> by_workers(const Case& c, const MeshShape& shape,
                                const std::vector<core::AxisRule>& rules) {
  std::mutex mutex;
  std::vector<Outcome> out;
  const auto errors = run_workers({.count = shape.workers()}, [&](Communicator& workers) {
    const Mesh mesh(borrowed(workers), shape, {rules, rules});
    const core::MappingScope scope(mesh.mapping());
    auto got = run(c);
    const std::lock_guard lock(mutex);
    out.push_back(std::move(got));
  });
  EXPECT_THAT(errors, ::testing::Each("")) << c.name;
  return out;
}

void expect_like(const Outcome& got, const Outcome& want, const std::string& text) {
  EXPECT_LE(error_of(got.value, want.value), 1e-2F) << text;
  for (std::size_t i = 0; i < want.gradients.size(); ++i)
    EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), 2e-2F) << text << i;
}

constexpr const char* kOfDocuments =
    "bora: attention by FlashAttention on test (library of the tests 1.0: documents that lie on several ranks)\n";

void expect_ring(const Ways& ways) {
  const AttentionBy by(ways.how);
  for (const auto& r : ring_cases()) {
    SCOPED_TRACE(r.what.name);
    const Case c = attention_case(r.what);
    const bool by_flash = r.flash_alone || ways.how == Attention::flash;
    const std::string &forward = by_flash ? kFlash.forward : ways.forward,
                      &backward = by_flash ? kFlash.backward : ways.backward;
    const Outcome one = run(c);
    Outcome host;
    {
      const core::DeviceScope here(core::Device{});
      host = run(c);
    }
    const auto expect_by = [&](const MeshShape& shape, const std::vector<core::AxisRule>& rules,
                               std::int64_t blocks) -> Outcome {
      const auto text = fmt::format("context {} model {} ", shape.context, shape.model);
      fake_device::reset();
      const auto got = by_workers(c, shape, rules);
      if (!kCounted) {
        // a GPU's libtorch counts nothing
      } else if (blocks > 0) {
        EXPECT_EQ(calls(forward), blocks) << text;
        EXPECT_EQ(calls(backward), blocks) << text;
        EXPECT_EQ(calls("aten::_softmax"), 0) << text;
      } else {
        EXPECT_GT(calls("aten::_softmax"), 0) << text;
      }
      EXPECT_EQ(std::ssize(got), shape.workers());
      for (const auto& outcome : got) {
        expect_like(outcome, one, text + "one worker ");
        expect_like(outcome, host, text + "the CPU ");
      }
      return got.empty() ? Outcome() : got[0];
    };
    expect_by({.context = 2}, kPositionsInBlocks, r.of_two);
    const auto four = expect_by({.context = 4}, kPositionsInBlocks, r.of_four),
               again = expect_by({.context = 4}, kPositionsInBlocks, r.of_four);
    EXPECT_EQ(again.value, four.value) << "the same bits again";
    EXPECT_EQ(again.gradients, four.gradients) << "the same bits again";
    expect_by({.context = 2, .model = 2}, kHeadsToo, 2 * r.of_two);
  }
}

TEST(DeviceRing, LikeOneWorkerByFlashAttention) { expect_ring(kFlash); }
TEST(DeviceRing, LikeOneWorkerByTheLibrary) {
  ::testing::internal::CaptureStderr();
  expect_ring(kLibrary);
  const auto said = ::testing::internal::GetCapturedStderr();
  if (kCounted) {
    EXPECT_THAT(said, ::testing::HasSubstr(kOfDocuments));
  }
}

// As on the CPU: what nobody further round sees stays.
TEST(DeviceRing, BlocksGoNoFurtherThanTheyAreSeen) {
  for (const auto* ways : {&kFlash, &kLibrary}) {
    const AttentionBy by(ways->how);
    expect_blocks(in_16_bits("causal"), {0, 1, 2, 3}, {3, 4, 5, 6});
    expect_blocks(in_16_bits("all keys", {.causal = false}), {3, 3, 3, 3}, {9, 9, 9, 9});
    expect_blocks(in_16_bits("a window", {.window = 9}), {0, 1, 1, 1}, {1, 3, 3, 2});
    expect_blocks(in_16_bits("documents", {}, DType::bf16, 13), {0, 1, 2, 3}, {3, 4, 5, 6});
  }
}

// A block that the library does not compute leaves all of them to FlashAttention, and a line says why.
TEST(DeviceRing, SaysWhatTheLibraryDoesNotCompute) {
  if (!kCounted) GTEST_SKIP() << "cuDNN refuses what it likes";
  const AttentionBy by(Attention::library);
  const auto said = [&](const Variant& what) {
    ::testing::internal::CaptureStderr();
    by_workers(attention_case(what), {.context = 2}, kPositionsInBlocks);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(in_16_bits("causal")), "");
  EXPECT_THAT(said(in_16_bits("documents", {}, DType::bf16, 5)), ::testing::AnyOf("", kOfDocuments));
  fake_device::refuse_attention("blocks of a ring", false);
  fake_device::reset();
  EXPECT_EQ(said(in_16_bits("causal")),
            "bora: attention by FlashAttention on test (library of the tests 1.0: blocks of a ring)\n");
  EXPECT_EQ(calls("library.forward"), 0);
  EXPECT_EQ(calls(kFlash.forward), 3);
  fake_device::refuse_attention("", true);
}

// What is kept for the backward pass of one layer, and what there is at most in both, of all workers together, in bytes.
struct Taken {
  std::int64_t kept = 0, most = 0;
};
Taken taken(int workers, std::int64_t positions, bool gathers) {
  const AttentionBy by(Attention::flash);
  // A sequence whose queries do not begin at its first key goes round no ring; what it sees is nearly the same.
  core::AttentionRule rule{.causal = false, .offset = gathers ? 1 : 0};
  const std::vector<std::int64_t> of_q{1, positions, 2, 1, 8}, of_k{1, positions, 2, 8};
  Taken out;
  std::mutex mutex;
  const auto errors = run_workers({.count = workers}, [&](Communicator& c) {
    const Mesh mesh(borrowed(c), {.context = workers}, {kPositionsInBlocks, kPositionsInBlocks});
    const core::MappingScope scope(mesh.mapping());
    const NameList names_q{"b", "p", "h", "g", "d"}, names_k{"b", "k", "h", "d"};
    core::Array q = core::cast({made({names_q, of_q}, 1), names_q}, DType::bf16),
                k = core::cast({made({names_k, of_k}, 2), names_k}, DType::bf16),
                v = core::cast({made({names_k, of_k}, 3), names_k}, DType::bf16);
    core::place_parameter(q, names_q);
    core::place_parameter(k, names_k);
    core::place_parameter(v, names_k);
    c.barrier();
    core::count_memory_anew(kThere);
    const auto before = core::device_memory(kThere).live;
    c.barrier();
    const std::vector<core::Array*> all{&q, &k, &v};
    (void)core::value_and_grad(all, [&] {
      const auto result = core::attention({q, names_q}, {k, names_k}, {v, names_k}, {"p", "k", "d"}, rule);
      c.barrier();
      const auto now = core::device_memory(kThere).live - before;
      {
        const std::lock_guard lock(mutex);
        out.kept = std::max(out.kept, now);
      }
      c.barrier();
      const core::Array wide = core::cast({result, names_q}, DType::f32);
      return core::reduce(core::Reduction::sum, {wide, names_q}, names_q);
    });
    c.barrier();
    const std::lock_guard lock(mutex);
    out.most = std::max(out.most, core::device_memory(kThere).peak - before);
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  return out;
}

TEST(DeviceRing, TakesMemoryOfOwnShards) {
  if (!kCounted) GTEST_SKIP() << "all workers of this test share a GPU's memory with what else is there";
  const auto two = taken(2, 1024, false), many = taken(16, 1024, false);
  const auto two_gather = taken(2, 1024, true), many_gather = taken(16, 1024, true);
  EXPECT_LT(3 * two.kept, two_gather.kept);
  EXPECT_LT(15 * many.kept, many_gather.kept);
  EXPECT_LT(many.kept, 1.5 * static_cast<double>(two.kept))
      << "shards of all together, and a few small arrays of each";
  EXPECT_LT(many.most, many_gather.kept) << "all that the ring takes, and what gathering keeps";
  EXPECT_LT(many.most, 2 * two.most) << "whatever their number: shards of two others";
  RecordProperty("bytes", fmt::format("{} {} of two, gathered {} {}; {} {} of sixteen, gathered {} {}",
                                      two.kept, two.most, two_gather.kept, two_gather.most, many.kept,
                                      many.most, many_gather.kept, many_gather.most));
}

}  // namespace
}  // namespace bora::mesh
