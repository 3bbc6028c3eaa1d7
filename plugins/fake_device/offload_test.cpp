// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Blocks whose inputs rest in memory of the host (nn::RematPolicy::Kind::offload): the bits are those of blocks that are
// computed again alone, whenever the device does its copies; and a wait that is missing is found.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/device_kernels.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "copies.h"
#include "fake_device.h"
#include "graph_training.h"

namespace bora {
namespace {

using fake_device::Copied;
using fake_device::CopiedWhen;

constexpr std::int64_t kSentLayers = 4, kSentSteps = 6;

GraphCase offloaded(GraphCase c) {
  c.remat = true;
  c.policy = "offload";
  c.layers = kSentLayers;
  return c;
}
GraphCase kept(GraphCase c) {
  c = offloaded(std::move(c));
  c.policy = "recompute";
  return c;
}

// The bytes of a block's input.
std::int64_t input_bytes(const GraphCase& c, bool small = false) {
  return c.sequences / (small ? 2 : 1) / c.lanes * kGraphLength * (c.model == "gpt2" ? 24 : 48) *
         (c.compute == core::DType::f32 ? 4 : 2);
}

struct OfAStep {
  double loss, norm;
  std::vector<std::vector<float>> values;
};

void expect_bits_of(const std::vector<OfAStep>& want, const GraphCase& c, Copied when, bool graphs) {
  SCOPED_TRACE(c.model + (graphs ? " by graphs" : "") + ", copied " +
               (when == Copied::late    ? "late"
                : when == Copied::early ? "early"
                                        : "at once"));
  const CopiedWhen scope(when);
  const GraphTraining sent(offloaded(c), graphs);
  std::int64_t pinned = 0;
  for (std::int64_t step = 0; step < kSentSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    fake_device::reset();
    const auto got = sent.trainer->step();
    const auto& right = want[static_cast<std::size_t>(step)];
    ASSERT_EQ(got.loss, right.loss);
    ASSERT_EQ(got.gradient_norm, right.norm);
    ASSERT_EQ(sent.values(), right.values);
    const auto counts = fake_device::copy_counts();
    const bool small = step == c.small_step;
    if (graphs && step >= 4 && !small) {
      EXPECT_EQ(fake_device::operations_by_name()["graph"], c.lanes);
    }
    // of all blocks but the last; what is noted is done once more, in vain
    if (!graphs || (step >= 4 && !small)) {
      EXPECT_EQ(counts.out, c.lanes * (kSentLayers - 1));
      EXPECT_EQ(counts.back, counts.out);
      EXPECT_EQ(counts.out_bytes, counts.out * input_bytes(c, small));
      EXPECT_EQ(counts.back_bytes, counts.out_bytes);
    }
    if (step > 0) {
      EXPECT_EQ(core::pinned_bytes(kOnTest), pinned);
    }
    pinned = core::pinned_bytes(kOnTest);
  }
}
void expect_bits_of_kept(const GraphCase& c) {
  const GraphTraining here(kept(c), false);
  std::vector<OfAStep> want;
  for (std::int64_t step = 0; step < kSentSteps; ++step) {
    const auto done = here.trainer->step();
    want.push_back({done.loss, done.gradient_norm, here.values()});
  }
  expect_bits_of(want, c, Copied::at_once, true);
  for (const auto when : {Copied::late, Copied::early})
    for (const bool graphs : {false, true}) expect_bits_of(want, c, when, graphs);
}

TEST(Offload, Gpt2) { expect_bits_of_kept({.model = "gpt2"}); }
TEST(Offload, Gpt2InBf16OfManyLanes) {
  expect_bits_of_kept({.model = "gpt2", .compute = core::DType::bf16, .lanes = 4});
}
TEST(Offload, Gpt2OfOneLane) { expect_bits_of_kept({.model = "gpt2", .lanes = 1}); }
TEST(Offload, Gpt2WithASmallerBatch) { expect_bits_of_kept({.model = "gpt2", .small_step = 5}); }
TEST(Offload, Llama) { expect_bits_of_kept({.model = "llama"}); }
TEST(Offload, LlamaInBf16) {
  expect_bits_of_kept({.model = "llama", .compute = core::DType::bf16, .lanes = 4});
}
TEST(Offload, LlamaInFp8) {
  expect_bits_of_kept({.model = "llama", .compute = core::DType::bf16, .fp8 = true});
}
TEST(Offload, OfDocumentsWithFlashAttention) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  for (const char* model : {"gpt2", "llama"})
    expect_bits_of_kept({.model = model, .compute = core::DType::bf16});
}

std::int64_t peak_of_a_step(const GraphCase& c) {
  const GraphTraining training(c, false);
  training.trainer->step();
  core::count_memory_anew(kOnTest);
  training.trainer->step();
  return core::device_memory(kOnTest).peak;
}

// Gradients of parameters come in meanwhile, so that at the most not all that was sent is less.
TEST(Offload, TakesLessMemoryThanInputsThatAreKept) {
  const GraphCase c{.model = "llama", .lanes = 1, .sequences = 128};
  const auto saved = peak_of_a_step(kept(c)) - peak_of_a_step(offloaded(c));
  EXPECT_GE(saved, (kSentLayers - 3) * input_bytes(c));
  EXPECT_LE(saved, (kSentLayers - 1) * input_bytes(c));
}

// Passes of the same shapes use the same pinned memory, and smaller ones parts of it.
TEST(Offload, TakesPinnedMemoryOnce) {
  const auto before = core::pinned_bytes(kOnTest);
  const GraphCase c{.model = "llama", .lanes = 1};
  for (int i = 0; i < 2; ++i) peak_of_a_step(offloaded(c));
  const auto taken = core::pinned_bytes(kOnTest);
  EXPECT_LE(taken - before, (kSentLayers - 1) * input_bytes(c));
  peak_of_a_step(offloaded({.model = "llama", .lanes = 8}));
  EXPECT_EQ(core::pinned_bytes(kOnTest), taken);
}

// x·w·w·... summed, a product by each body, and one before them: every one gives another value.
struct Bodies {
  static constexpr std::array<std::string_view, 2> kNames{"i", "j"};
  static constexpr std::array<std::string_view, 1> kRow{"j"};
  static constexpr std::int64_t kRows = 32;
  explicit Bodies(std::int64_t wide) : scope(kOnTest), width(wide) {
    const std::vector<float> two(static_cast<std::size_t>(width), 2.F);
    const std::array<std::int64_t, 1> row{width};
    const std::array<std::int64_t, 2> sizes{kRows, width};
    w = core::from_data({kRow, row}, std::span<const float>(two));
    x = core::ones({kNames, sizes});
  }
  std::int64_t input_bytes() const { return kRows * width * std::int64_t{sizeof(float)}; }
  std::vector<float> right(int bodies) const {
    const auto each = static_cast<float>(kRows * (bodies + 1)) * std::ldexp(1.F, bodies);
    return std::vector<float>(static_cast<std::size_t>(width), each);
  }
  // Of w.
  std::vector<float> gradient(int bodies, bool keeps = false, bool fails = false) {
    core::Offload rest(bodies);
    const auto times = [this](const core::Array& y) {
      return core::binary(core::Binary::multiply, {y, kNames}, {w, kRow}, kNames);
    };
    const auto body = [times](std::span<const core::Array> in) {
      return std::vector<core::Array>{times(in[0])};
    };
    const auto all = [&] {
      core::Array y = times(x);
      for (int i = 0; i < bodies; ++i) {
        if (fails && i + 1 == bodies) fail(ErrorKind::Stopped, "in the last body");
        y = keeps ? core::checkpoint(body, {&y, 1})[0] : core::checkpoint(body, {&y, 1}, rest)[0];
      }
      return core::reduce(core::Reduction::sum, {y, kNames}, kNames);
    };
    std::vector<core::Array*> trained{&w};
    return core::value_and_grad(trained, all).gradients[0].to_vector<float>();
  }
  core::DeviceScope scope;
  std::int64_t width;
  core::Array w, x;
};

// Two inputs are there at a time: of the body that is computed again, and of the one that comes after it.
TEST(Offload, TakesTheMemoryOfTwoInputs) {
  constexpr int kBodies = 7;
  Bodies bodies(1024);
  const auto peak = [&](bool keeps) {
    core::count_memory_anew(kOnTest);
    EXPECT_EQ(bodies.gradient(kBodies, keeps), bodies.right(kBodies));
    return core::device_memory(kOnTest).peak;
  };
  const auto inputs =
      static_cast<double>(peak(true) - peak(false)) / static_cast<double>(bodies.input_bytes());
  // most is there in the last body but one, since the gradient of a sum takes nothing; and gradients of w come in
  EXPECT_NEAR(inputs, kBodies - 1 - 2, 0.1);
}

// Each wait is needed by a device that copies late, or by one that copies early.
TEST(Offload, AWaitThatIsLeftOutIsFound) {
  constexpr int kBodies = 6;
  Bodies bodies(64);
  const auto is_right = [&](Copied when, std::optional<std::int64_t> left_out) {
    const CopiedWhen scope(when);
    fake_device::reset();
    fake_device::leave_out_wait(left_out);
    const auto got = bodies.gradient(kBodies);
    fake_device::leave_out_wait({});
    return got == bodies.right(kBodies);
  };
  EXPECT_TRUE(is_right(Copied::late, {}));
  EXPECT_TRUE(is_right(Copied::early, {}));
  const auto waits = fake_device::copy_counts().waits;
  ASSERT_EQ(waits, 4 * (kBodies - 1));  // each way one of the copies and one for them
  for (std::int64_t i = 0; i < waits; ++i)
    EXPECT_FALSE(is_right(Copied::late, i) && is_right(Copied::early, i)) << "wait " << i;
}

TEST(Offload, SaysThatPinnedMemoryIsNotToBeHad) {
  Bodies bodies(std::int64_t{1} << 17);
  const auto taken = core::pinned_bytes(kOnTest);
  fake_device::limit_pinned(1000);
  try {
    bodies.gradient(3);
    ADD_FAILURE() << "memory that is not there";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("offload: 16.8 MB of pinned memory of the host are not to be had beside "),
              std::string::npos)
        << text;
    EXPECT_NE(
        text.find("that are taken for inputs of blocks on test\n"
                  "hint: let this process lock more memory (ulimit -l, the container's memory), take more "
                  "trainer.lanes or a smaller trainer.train_batch_size, or "
                  "model.gradient_checkpointing: true, which keeps them on the device"),
        std::string::npos)
        << text;
  }
  fake_device::limit_pinned({});
  EXPECT_EQ(core::pinned_bytes(kOnTest), taken);
}

// A device that is lost: each call in turn is refused, in its words, and the program goes on where it takes them again.
TEST(Offload, SaysWhatTheDeviceRefuses) {
  constexpr int kBodies = 4;
  struct Case {
    fake_device::Refused what;
    const char* words;
  };
  for (const auto& c : {Case{fake_device::Refused::out, "a copy to the host"},
                        Case{fake_device::Refused::back, "a copy from the host"},
                        Case{fake_device::Refused::wait, "a wait for a copy"}}) {
    for (std::int64_t after = 0; after < kBodies - 1; ++after) {
      SCOPED_TRACE(std::string(c.words) + " " + std::to_string(after));
      Bodies bodies(64);
      EXPECT_EQ(bodies.gradient(kBodies), bodies.right(kBodies));
      const auto live = core::device_memory(kOnTest).live, pinned = core::pinned_bytes(kOnTest);
      fake_device::refuse_copies(c.what, after);
      try {
        bodies.gradient(kBodies);
        ADD_FAILURE() << "it was refused";
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Io);
        EXPECT_EQ(
            std::string(e.what()),
            std::string("offload: test refuses ") + c.words +
                " (8.19 kB)\nhint: model.gradient_checkpointing: true keeps the inputs of blocks there");
      }
      fake_device::refuse_copies({});
      EXPECT_EQ(core::device_memory(kOnTest).live, live);
      EXPECT_EQ(bodies.gradient(kBodies), bodies.right(kBodies));
      EXPECT_EQ(core::pinned_bytes(kOnTest), pinned);
    }
  }
}

// What is under way when a pass fails is waited for, and its pinned memory is used again.
TEST(Offload, GoesOnAfterAPassThatFailed) {
  for (const auto when : {Copied::late, Copied::early}) {
    const CopiedWhen scope(when);
    Bodies bodies(16);
    EXPECT_EQ(bodies.gradient(4), bodies.right(4));
    const auto taken = core::pinned_bytes(kOnTest);
    const auto live = core::device_memory(kOnTest).live;
    EXPECT_THROW(bodies.gradient(4, false, true), Error);
    EXPECT_FALSE(fake_device::copies_under_way());
    EXPECT_EQ(core::device_memory(kOnTest).live, live);
    EXPECT_EQ(bodies.gradient(4), bodies.right(4));
    EXPECT_EQ(core::pinned_bytes(kOnTest), taken);
  }
}

}  // namespace
}  // namespace bora
