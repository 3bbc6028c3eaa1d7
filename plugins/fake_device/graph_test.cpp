// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Steps of the trainer by graphs of the device: the bits are those of passes whose operations go there one by one, and a
// lane is one launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/device_kernels.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/core/step_graph.h"
#include "bora/core/update.h"
#include "fake_device.h"
#include "graph_training.h"

namespace bora {
namespace {

std::int64_t graphs_launched() { return fake_device::operations_by_name()["graph"]; }

void expect_same_bits(const GraphCase& c) {
  const GraphTraining graphs(c, true), one_by_one(c, false);
  for (std::int64_t step = 0; step < kGraphSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    fake_device::reset();
    const auto got = graphs.trainer->step();
    const auto waits = fake_device::counts().synchronizations, operations = fake_device::counts().operations,
               launches = graphs_launched();
    fake_device::reset();
    const auto want = one_by_one.trainer->step();
    EXPECT_EQ(graphs_launched(), 0);
    EXPECT_EQ(waits, fake_device::counts().synchronizations);
    EXPECT_LE(waits, 1);
    EXPECT_EQ(got.loss, want.loss);
    EXPECT_EQ(got.weight, want.weight);
    EXPECT_EQ(got.gradient_norm, want.gradient_norm);
    ASSERT_EQ(graphs.values(), one_by_one.values());
    // the shape of the smaller batch is new when it comes
    if (step >= 4 && step != c.small_step) {
      EXPECT_EQ(launches, c.lanes) << "a launch a lane";
      EXPECT_LT(operations, fake_device::counts().operations / 2);
    }
  }
}

TEST(StepGraphs, Gpt2) { expect_same_bits({.model = "gpt2"}); }
TEST(StepGraphs, Gpt2InBf16) { expect_same_bits({.model = "gpt2", .compute = core::DType::bf16}); }
TEST(StepGraphs, Gpt2OfOneLane) { expect_same_bits({.model = "gpt2", .lanes = 1}); }
TEST(StepGraphs, Gpt2OfManyLanes) { expect_same_bits({.model = "gpt2", .lanes = 8}); }
TEST(StepGraphs, Gpt2WithRemat) {
  expect_same_bits({.model = "gpt2", .compute = core::DType::bf16, .lanes = 4, .remat = true});
}
TEST(StepGraphs, Gpt2WithASmallerBatch) { expect_same_bits({.model = "gpt2", .lanes = 4, .small_step = 5}); }
TEST(StepGraphs, Llama) { expect_same_bits({.model = "llama"}); }
TEST(StepGraphs, LlamaInBf16WithRemat) {
  expect_same_bits({.model = "llama", .compute = core::DType::bf16, .lanes = 4, .remat = true});
}
TEST(StepGraphs, LlamaInFp8) {
  expect_same_bits({.model = "llama", .compute = core::DType::bf16, .fp8 = true});
}
TEST(StepGraphs, LlamaWithoutSegments) { expect_same_bits({.model = "llama", .segments = false}); }

TEST(StepGraphs, OfDocumentsWithFlashAttention) {
  const fake_device::AttentionBy flash(fake_device::Attention::flash);
  for (const char* model : {"gpt2", "llama"})
    expect_same_bits({.model = model, .compute = core::DType::bf16, .lanes = 4, .dropout = false});
}

TEST(StepGraphs, OfDocumentsWithAnAttentionLibrary) {
  const fake_device::AttentionBy library(fake_device::Attention::library);
  for (const char* model : {"gpt2", "llama"})
    for (const bool remat : {false, true})
      expect_same_bits(
          {.model = model, .compute = core::DType::bf16, .lanes = 4, .remat = remat, .dropout = false});
}

// A checkpoint's values come into arrays of another training, or into new arrays.
TEST(StepGraphs, AfterAResume) {
  const GraphCase c{.model = "gpt2", .compute = core::DType::bf16};
  const GraphTraining before(c, true), one_by_one(c, false), after(c, true);
  for (int step = 0; step < 4; ++step) {
    before.trainer->step();
    one_by_one.trainer->step();
  }
  const auto from = before.model->parameters(), to = after.model->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) *to[i].array = from[i].array->clone();
  for (std::size_t i = 0; i < before.optimizer.state().size(); ++i)
    core::copy_into(after.optimizer.state()[i].array, before.optimizer.state()[i].array);
  after.trainer->load_state(before.trainer->save_state());
  for (int step = 4; step < kGraphSteps; ++step) {
    if (step == 6)  // noted anew, where they are now
      for (const auto& p : to) *p.array = p.array->clone();
    fake_device::reset();
    EXPECT_EQ(after.trainer->step().loss, one_by_one.trainer->step().loss) << "step " << step;
    ASSERT_EQ(after.values(), one_by_one.values()) << "step " << step;
    const bool are_new = step == 4 || step == 6;  // a lane that stores gradients, and one that adds to them
    EXPECT_EQ(graphs_launched(), are_new ? 0 : c.lanes);
  }
}

// What graphs work in may be gone when memory has run short: they are noted anew.
TEST(StepGraphs, AfterMemoryHasRunShort) {
  const GraphCase c{.model = "llama", .lanes = 1};
  const GraphTraining graphs(c, true), one_by_one(c, false);
  std::vector<std::int64_t> launches;
  for (int step = 0; step < kGraphSteps; ++step) {
    if (step == 4) {
      constexpr std::int64_t kLeft = 1 << 20;
      fake_device::limit_memory(core::device_memory(kOnTest).live + kLeft);
      const std::array<std::string_view, 1> names{"byte"};
      const std::array<std::int64_t, 1> sizes{kLeft / 4 - 1024};
      const auto large = core::zeros({names, sizes});
      fake_device::limit_memory({});
    }
    fake_device::reset();
    const auto got = graphs.trainer->step();
    launches.push_back(graphs_launched());
    EXPECT_EQ(got.loss, one_by_one.trainer->step().loss);
    ASSERT_EQ(graphs.values(), one_by_one.values()) << "step " << step;
  }
  EXPECT_EQ(launches, (std::vector<std::int64_t>{0, 1, 1, 1, 0, 1, 1, 1}));
}

// Between launches graphs keep what they work in: the device has it back and gives it to nobody.
TEST(StepGraphs, KeepWhatTheyWorkIn) {
  const auto live = core::device_memory(kOnTest).live;
  {
    const GraphTraining training({.model = "gpt2", .lanes = 1, .sequences = 64}, true);
    for (int step = 0; step < 2; ++step) training.trainer->step();
    core::count_memory_anew(kOnTest);
    training.trainer->step();
    const auto memory = core::device_memory(kOnTest);
    EXPECT_GT(memory.live - live, 1'000'000) << "a pass over 1024 positions of 24 values in two layers";
    EXPECT_GE(memory.peak, memory.live);
    EXPECT_LT(memory.peak - memory.live, 100'000) << "a launch takes nothing more";
  }
  EXPECT_EQ(core::device_memory(kOnTest).live, live);
}

// A pass over one parameter, w: the sum of dropout(w) * x.
struct OnePass {
  OnePass() : scope(kOnTest), w(core::ones({kNames, kSizes})), graphs(parameters()) {}
  std::vector<core::Parameter> parameters() {
    core::Parameter p;
    p.path = "w";
    p.axes = {kNames.begin(), kNames.end()};
    p.array = &w;
    return {p};
  }
  using More = std::function<void(const core::PassInputs&, std::vector<core::Number>&)>;

  // The sum and the gradient.
  std::pair<double, std::vector<float>> run(std::uint64_t key, const More& more = {}) {
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + key);
    core::PassInputs inputs{{core::from_data({kNames, kSizes}, std::span<const float>(values))},
                            Key::from_seed(key)};
    std::vector<core::Array> into(1);
    std::vector<core::Array*> trained{&w};
    if (leave) fake_device::limit_memory(core::device_memory(kOnTest).live + *leave);
    const auto numbers =
        graphs.run(inputs, into, [&](const core::PassInputs& given, const core::GradientPlaces& to) {
          EXPECT_TRUE(core::in_noted_pass()) << "whether by a graph or not: its memory is that of graphs";
          std::vector<core::Number> out;
          const auto loss = core::accumulate_gradients(
              trained,
              [&] {
                const auto kept = core::dropout({w, kNames}, 0.5, given.key->fold("here"));
                const auto product =
                    core::binary(core::Binary::multiply, {kept, kNames}, {given.arrays[0], kNames}, kNames);
                return core::reduce(core::Reduction::sum, {product, kNames}, kNames);
              },
              to);
          out.emplace_back(loss);
          if (more) more(given, out);
          return out;
        });
    fake_device::limit_memory({});
    if (holds) held = into[0];
    return {numbers.at(0).value(), into[0].to_vector<float>()};
  }

  static constexpr std::array<std::string_view, 1> kNames{"i"};
  static constexpr std::array<std::int64_t, 1> kSizes{64};
  core::DeviceScope scope;
  core::Array w;
  core::StepGraphs graphs;
  bool holds = false;  // the last gradient, so that the next pass finds it in use and copies it
  core::Array held;
  std::optional<std::int64_t> leave;  // bytes, from where the inputs are made to the end of the pass
};

// The copy takes what graphs work in, after it was looked whether that is still there.
TEST(StepGraphs, WhereTheCopyOfGradientsInUseTakesTheirMemory) {
  OnePass pass;
  pass.holds = true;
  const auto once_more_memory = [](const core::PassInputs&, std::vector<core::Number>&) {
    const std::array<std::int64_t, 1> many{4096};
    core::ones({OnePass::kNames, many});
  };
  for (std::uint64_t key = 0; key < 6; ++key) {
    pass.leave = key == 3 ? std::optional<std::int64_t>(1) : std::nullopt;
    fake_device::reset();
    const auto got = pass.run(key, key == 0 ? OnePass::More(once_more_memory) : OnePass::More());
    EXPECT_EQ(graphs_launched(), key == 0 || key == 3 || key == 4 ? 0 : 1) << key;
    EXPECT_EQ(got, OnePass().run(key)) << key;
  }
}

TEST(StepGraphs, DrawAnewForEachKey) {
  OnePass pass;
  std::set<std::vector<float>> different;
  for (std::uint64_t key = 0; key < 6; ++key) {
    fake_device::reset();
    const auto got = pass.run(key);
    EXPECT_EQ(graphs_launched(), key == 0 ? 0 : 1);
    EXPECT_EQ(got, OnePass().run(key)) << key;  // a first pass, by no graph
    different.insert(got.second);
  }
  EXPECT_EQ(different.size(), 6U);
}

// What cannot be noted is computed as ever, and a line says why.
void expect_said(const OnePass::More& more, const std::string& why) {
  OnePass pass;
  ::testing::internal::CaptureStderr();
  for (std::uint64_t key = 0; key < 4; ++key) {
    fake_device::reset();
    EXPECT_EQ(pass.run(key, more), OnePass().run(key)) << key;
    EXPECT_EQ(graphs_launched(), 0);
  }
  const auto said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("bora: no graph of a pass, whose operations go to test one by one: "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(why), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(StepGraphs, SayWhatCannotBeNoted) {
  using Inputs = core::PassInputs;
  using Numbers = std::vector<core::Number>;
  expect_said([](const Inputs& in, Numbers&) { (void)in.arrays[0].to_vector<float>(); }, "the host waits");
  expect_said([](const Inputs&, Numbers& numbers) { numbers.emplace_back(1.0); },
              "one of its numbers is computed by the host");
  expect_said(
      [n = 0.0F](const Inputs&, Numbers&) mutable {
        const std::vector<float> values(64, n += 1);
        core::from_data({OnePass::kNames, OnePass::kSizes}, std::span<const float>(values));
      },
      "it sends an array that it did not send before");
  expect_said(
      [n = 0](const Inputs& in, Numbers&) mutable {
        for (int i = 0; i < n; ++i)
          core::dropout({in.arrays[0], OnePass::kNames}, 0.5, in.key->fold(static_cast<std::uint64_t>(i)));
        ++n;
      },
      "it draws with 2 keys, and drew with 1 before");
  expect_said(
      [](const Inputs& in, Numbers&) {
        try {
          (void)in.arrays[0].to_vector<float>();
        } catch (const Error&) {  // the device has noticed
        }
      },
      "the device takes no such graph");
}

TEST(StepGraphs, OfADeviceThatTakesNone) {
  fake_device::refuse_graphs(true, false);
  expect_said({}, "the device takes no graph now");
  fake_device::refuse_graphs(false, true);
  OnePass pass;
  pass.run(0);
  try {
    pass.run(1);
    ADD_FAILURE() << "a launch that was refused";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "step graph: test does not launch what it has noted\n"
                 "hint: trainer.cuda_graphs: false gives it operations one by one");
  }
  fake_device::refuse_graphs(false, false);
}

TEST(StepGraphs, NoneInFp16) {
  const GraphTraining training({.model = "llama", .compute = core::DType::f16}, true);
  ::testing::internal::CaptureStderr();
  fake_device::reset();
  for (int step = 0; step < 3; ++step) training.trainer->step();
  const auto said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(graphs_launched(), 0);
  EXPECT_NE(said.find("one by one: fp16 makes copies of parameters in each step"), std::string::npos) << said;
}

}  // namespace
}  // namespace bora
