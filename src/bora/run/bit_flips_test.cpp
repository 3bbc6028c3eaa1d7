// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One flipped bit in a gradient, a parameter or a moment of a small GPT-2, by what the bit means: which ends the run as not
// finite, which makes a step that `skip_bad_steps` skips, which a comparison with another worker finds, and which nobody
// sees. BORA_TEST_BIT_FLIPS=1000 flips so many, with a hundred undisturbed steps for each, and prints the table.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/mesh/replica_check.h"
#include "bora/mesh/test_communicator.h"
#include "bora/models/gpt2.h"
#include "bora/nn/language_model.h"
#include "bora/optim/adam.h"
#include "bora/train/trainer.h"

namespace bora::run {
namespace {

constexpr std::int64_t kFlipVocab = 32, kFlipRows = 4, kFlipPositions = 8;
// A window of skip-step is full before the flip; then so many steps are watched, and more after a repair.
constexpr std::int64_t kBeforeFlip = 150, kWatched = 10;

enum class Target { gradient, parameter, mean, square };
constexpr std::array<const char*, 4> kTargets = {"gradient", "parameter", "Adam's mean",
                                                 "Adam's mean square"};

// The bits of a float by what they mean. The highest of the exponent makes most values huge; they are below 2.
struct BitClass {
  const char* name;
  int first, last;
};
constexpr std::array<BitClass, 5> kBitClasses = {{{"sign", 31, 31},
                                                  {"exponent, highest", 30, 30},
                                                  {"exponent, others", 23, 29},
                                                  {"mantissa, upper half", 12, 22},
                                                  {"mantissa, lower half", 0, 11}}};

struct Flip {
  Target target;
  std::uint64_t element;  // of all elements of the target, one array after another
  int bit;
};

void flip_in(std::vector<core::Array> arrays, std::uint64_t element, int bit) {
  for (auto& array : arrays) {
    const auto size = static_cast<std::uint64_t>(array.numel());
    if (element < size) {
      float& x = array.data<float>()[element];
      x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ std::uint32_t{1} << bit);
      return;
    }
    element -= size;
  }
  FAIL() << "no such element";
}

// Adds up lanes, and flips a bit of the sum when it is asked to.
class FlippingReducer final : public mesh::GradientReducer {
 public:
  explicit FlippingReducer(const std::vector<core::Parameter>& parameters)
      : GradientReducer(mesh::make_self_communicator(), parameters, parameters) {}
  bool owns(std::int64_t, std::int64_t) const override { return true; }
  std::optional<Flip> next;

 private:
  mesh::LaneSum sum_lanes(std::int64_t lanes, const Work& work) override {
    mesh::LaneSum sum{0, lanes, std::vector<core::Array>(arrays().size()), {}};
    for (std::int64_t lane = 0; lane < lanes; ++lane) add_gradients(lane, work, sum.arrays);
    if (const auto flip = std::exchange(next, std::nullopt)) flip_in(sum.arrays, flip->element, flip->bit);
    return sum;
  }
};

// Each token follows from the one before it, but for chance.
data::Batch noisy_batch(std::int64_t step) {
  data::Batch batch{.step = step, .sequences = kFlipRows, .seq_len = kFlipPositions};
  std::mt19937_64 random(static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < kFlipRows * kFlipPositions; ++i) {
    const auto before = i % kFlipPositions == 0 ? static_cast<std::int64_t>(random() % kFlipVocab)
                                                : static_cast<std::int64_t>(batch.tokens.back());
    batch.tokens.push_back(
        static_cast<std::int32_t>((3 * before + static_cast<std::int64_t>(random() % 3)) % kFlipVocab));
    batch.loss_weights.push_back(i % kFlipPositions == kFlipPositions - 1 ? 0.F : 1.F);
  }
  data::set_next_token_targets(batch);
  return batch;
}

class FlippedTraining {
 public:
  FlippedTraining(bool skips, std::int64_t steps)
      : model_(nn::erase_type(
            gpt2::Gpt2::init({.seq_len = kFlipPositions, .hidden_dim = 16, .num_layers = 2, .num_heads = 2},
                             Dim<gpt2::Vocab>{kFlipVocab}, Key::from_seed(1)))),
        adam_(config(), model_->parameters()) {
    auto reducer = std::make_unique<FlippingReducer>(model_->parameters());
    reducer_ = reducer.get();
    trainer_.emplace(
        train::Trainer::Parts{
            .model = *model_,
            .optimizer = adam_,
            .schedule = optim::Schedule(config(), steps),
            .skip_step = skips ? std::optional(optim::SkipStep(optim::SkipStepConfig{})) : std::nullopt,
            .batch_of = noisy_batch,
            .should_stop = {},
            .hooks = {},
            .reducer = std::move(reducer)},
        train::TrainerOptions{.total_steps = steps, .lanes = 2});
  }

  train::StepResult step() { return trainer_->step(); }
  void require_finite() const { trainer_->require_finite_parameters(); }

  std::vector<core::Array> arrays_of(Target target) const {
    std::vector<core::Array> out;
    const auto wanted = target == Target::mean ? "mu/" : "nu/";
    if (target == Target::gradient || target == Target::parameter) {
      for (const auto& p : trainer_->parameters()) out.push_back(*p.array);
    } else {
      for (const auto& s : adam_.state())
        if (s.name.starts_with(wanted)) out.push_back(s.array);
    }
    return out;
  }
  std::uint64_t elements() const {
    std::uint64_t n = 0;
    for (const auto& array : arrays_of(Target::parameter)) n += static_cast<std::uint64_t>(array.numel());
    return n;
  }
  void disturb(const Flip& flip) {
    if (flip.target == Target::gradient)
      reducer_->next = flip;
    else
      flip_in(arrays_of(flip.target), flip.element, flip.bit);
  }

  std::vector<float> values() const {  // parameters, then moments
    std::vector<float> out;
    for (const auto target : {Target::parameter, Target::mean, Target::square}) {
      for (const auto& array : arrays_of(target)) {
        const auto more = array.to_vector<float>();
        out.insert(out.end(), more.begin(), more.end());
      }
    }
    return out;
  }
  void keep() {
    kept_ = values();
    state_ = trainer_->save_state();
  }
  void go_back() {
    auto from = kept_.begin();
    for (const auto target : {Target::parameter, Target::mean, Target::square}) {
      for (auto array : arrays_of(target)) {
        std::copy_n(from, array.numel(), array.data<float>());
        from += array.numel();
      }
    }
    trainer_->load_state(state_);
    reducer_->next.reset();
  }

 private:
  static optim::AdamConfig config() {
    optim::AdamConfig config;
    config.learning_rate = 1e-3;
    config.warmup = 0;
    return config;
  }

  std::unique_ptr<nn::LanguageModel> model_;
  optim::Adam adam_;
  FlippingReducer* reducer_ = nullptr;
  std::optional<train::Trainer> trainer_;
  std::vector<float> kept_;
  Json state_;
};

// Whether a second worker, which holds the values of an undisturbed training, tells that these are others.
bool found_by_comparing(std::span<const float> parameters, std::span<const float> undisturbed) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    const mesh::Replica replica{"parameters", std::as_bytes(c.rank() == 0 ? parameters : undisturbed)};
    mesh::require_equal_replicas(c, {&replica, 1}, "at the end");
  });
  return !errors[0].empty();
}

struct Tally {
  int flips = 0, not_finite = 0, skipped = 0, compared = 0, same = 0;
};

enum class Seen { not_at_all, not_finite, skipped };
Seen watch(FlippedTraining& training, const Flip& flip) {
  training.go_back();
  training.disturb(flip);
  try {
    for (std::int64_t i = 0; i < kWatched; ++i) {
      if (training.step().skipped) return Seen::skipped;
    }
    training.require_finite();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NonFinite) << e.what();
    return Seen::not_finite;
  }
  return Seen::not_at_all;
}

void print_table(const std::array<std::array<Tally, kBitClasses.size()>, kTargets.size()>& tallies) {
  fmt::print(
      "| flipped | bit | flips | not finite | not finite or skipped | found by comparing | no parameter differs |\n"
      "|---|---|---:|---:|---:|---:|---:|\n");
  for (std::size_t t = 0; t < kTargets.size(); ++t) {
    for (std::size_t c = 0; c < kBitClasses.size(); ++c) {
      const Tally& n = tallies[t][c];
      fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", kTargets[t], kBitClasses[c].name, n.flips,
                 n.not_finite, n.skipped, n.compared, n.same);
    }
  }
}

TEST(BitFlips, OfTrainingAreFoundByClass) {
  const auto wish = env::for_tests("BORA_TEST_BIT_FLIPS");
  const auto wanted = parse_int(wish.value_or("40")).value_or(40);
  const auto clean = wish ? 100 * wanted : 200;
  FlippedTraining plain(false, 10'000), skipping(true, 10'000);
  for (auto* training : {&plain, &skipping}) {
    for (std::int64_t i = 0; i < kBeforeFlip; ++i) training->step();
    training->keep();
  }
  EXPECT_EQ(plain.values(), skipping.values()) << "a step was skipped before any flip";
  for (std::int64_t i = 0; i < kWatched; ++i) plain.step();
  const auto undisturbed = plain.values();
  const auto elements = plain.elements();

  std::array<std::array<Tally, kBitClasses.size()>, kTargets.size()> tallies{};
  std::mt19937_64 random(14);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto t = static_cast<std::size_t>(i) % kTargets.size();
    const auto c = static_cast<std::size_t>(i) / kTargets.size() % kBitClasses.size();
    const auto& bits = kBitClasses[c];
    const Flip flip{
        static_cast<Target>(t), random() % elements,
        bits.first + static_cast<int>(random() % static_cast<std::uint64_t>(bits.last - bits.first + 1))};
    Tally& n = tallies[t][c];
    ++n.flips;
    if (watch(plain, flip) == Seen::not_finite) {
      ++n.not_finite;
    } else {
      const auto values = plain.values();
      const auto parameters = std::span(values).first(elements),
                 others = std::span(undisturbed).first(elements);
      const bool same = std::ranges::equal(std::as_bytes(parameters), std::as_bytes(others));
      const bool found = found_by_comparing(parameters, others);
      EXPECT_EQ(found, !same);
      n.same += same ? 1 : 0;
      n.compared += found ? 1 : 0;
    }
    n.skipped += watch(skipping, flip) != Seen::not_at_all ? 1 : 0;
  }

  // What was found is repaired by what was kept from before: the same steps again have the bits of no flip.
  for (auto* training : {&plain, &skipping}) {
    training->go_back();
    for (std::int64_t i = 0; i < kWatched; ++i) training->step();
    EXPECT_EQ(training->values(), undisturbed);
  }

  int false_alarms = 0;
  FlippedTraining alone(true, clean);
  for (std::int64_t i = 0; i < clean; ++i) false_alarms += alone.step().skipped ? 1 : 0;
  if (wish) {
    print_table(tallies);
    fmt::print("{} undisturbed steps: {} skipped, none not finite\n", clean, false_alarms);
  } else {
    EXPECT_EQ(false_alarms, 0);
  }
}

}  // namespace
}  // namespace bora::run
