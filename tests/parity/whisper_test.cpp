// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Tiny reference models of speech: features, hidden states, logits, loss, gradients and greedy continuations
// equal those that Hugging Face computes.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "bora/audio/log_mel.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/infer/sampler.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/test_communicator.h"
#include "bora/models/add_model.h"
#include "bora/models/whisper.h"
#include "bora/nn/kv_cache.h"
#include "bora/run/generation_config.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

const std::string kShared = BORA_SHARED_DIR "/data/models/whisper";
// Of this repository, made by make_whisper.py: always tested.
const std::string kOwn = BORA_SOURCE_DIR "/tests/parity/speech/tiny-whisper";

std::vector<std::int32_t> ids_of(const checkpoint::SafetensorsFile& file, const std::string& name) {
  const auto bytes = file.bytes(file.at(name));
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::int64_t id;
    std::memcpy(&id, bytes.data() + i, 8);
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

template <class T>
core::Array array_of(const std::vector<std::string_view>& names, const std::vector<std::int64_t>& sizes,
                     const std::vector<T>& values) {
  return core::from_data({names, sizes}, std::span<const T>(values));
}

void expect_close(const std::string& what, const std::vector<float>& ours, const std::vector<float>& theirs,
                  double absolute, double relative) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    ASSERT_NEAR(ours[i], theirs[i], absolute + relative * std::abs(theirs[i])) << what << " at " << i;
}

class WhisperParity : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!exists(folder())) GTEST_SKIP() << "no further reference model at " << folder();
    reference_ = std::make_unique<checkpoint::SafetensorsFile>(folder() + "/reference.safetensors");
    model_ = load_speech(folder());
    batch_.features = features(floats("input_features"));
    batch_.ids = tokens("decoder_input_ids");
    batch_.targets = tokens("labels");
    batch_.weights = array_of({"batch", "position"}, {2, positions()},
                              std::vector<float>(static_cast<std::size_t>(2 * positions()), 1));
  }
  const std::string& folder() const { return GetParam(); }
  std::int64_t positions() const { return reference_->at("labels").shape[1]; }
  core::Array features(const std::vector<float>& rows) const {
    const auto s = model_->shape();
    return array_of<float>({"batch", "mel", "frame"},
                           {std::ssize(rows) / s.mel_bins / s.frames, s.mel_bins, s.frames}, rows);
  }
  std::vector<float> floats(const std::string& name) const { return reference_->floats(name); }
  core::Array tokens(const std::string& name) const {
    return array_of({"batch", "position"}, {2, positions()}, ids_of(*reference_, name));
  }
  void expect_reference(const std::string& name, const core::Array& ours) const {
    expect_close(name, ours.to_vector<float>(), floats(name), 5e-5, 1e-4);
  }
  nn::Context observing(const std::string& prefix) {
    probe_ = [this, prefix](std::int64_t i, const core::Array& x) {
      seen_[prefix + std::to_string(i)] = x.to_vector<float>();
    };
    nn::Context context;
    context.probe = &probe_;
    return context;
  }

  std::unique_ptr<checkpoint::SafetensorsFile> reference_;
  std::unique_ptr<nn::SpeechModel> model_;
  nn::TokenBatch batch_;
  std::function<void(std::int64_t, const core::Array&)> probe_;
  std::map<std::string, std::vector<float>> seen_;
};

TEST_P(WhisperParity, Features) {
  if (!exists(folder() + "/preprocessor_config.json")) GTEST_SKIP() << "its features are of no sound";
  const audio::LogMel log_mel(audio::read_feature_config(folder() + "/preprocessor_config.json"));
  const auto waveform = floats("waveform");
  std::vector<float> features;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto one = log_mel(std::span(waveform).subspan(row * 32000, 32000));
    features.insert(features.end(), one.begin(), one.end());
  }
  expect_close("input_features", features, floats("input_features"), 1e-4, 0);
}

TEST_P(WhisperParity, HiddenStatesAndLogits) {
  const auto encoded = model_->encode(batch_.features, observing("encoder_hidden_states."));
  expect_reference("encoder_last_hidden_state", encoded);
  const auto heard = model_->hear(encoded);
  expect_reference("logits", model_->logits(batch_.ids, heard, observing("decoder_hidden_states.")));
  const auto& config = model_->hf_config();
  EXPECT_EQ(seen_.size(),
            config["encoder_layers"].get<std::size_t>() + config["decoder_layers"].get<std::size_t>() + 2);
  for (const auto& [name, values] : seen_) expect_close(name, values, floats(name), 5e-5, 1e-4);
}

TEST_P(WhisperParity, LossAndEveryGradient) {
  std::vector<core::Array*> arrays;
  std::vector<std::string> names;
  for (auto& p : model_->parameters()) {
    if (!p.trainable) continue;
    arrays.push_back(p.array);
    names.push_back("grad." + model_->hf_name(p.path).name);
  }
  const auto result = core::value_and_grad(arrays, [&] {
    const auto objective = model_->objective(batch_, std::nullopt, {});
    return core::binary(core::Binary::divide, {objective.loss, {}}, objective.weight.item());
  });
  expect_close("loss", {static_cast<float>(result.value.item())}, floats("loss"), 1e-5, 0);
  for (std::size_t i = 0; i < names.size(); ++i)
    expect_close(names[i], result.gradients[i].to_vector<float>(), floats(names[i]), 1e-5, 1e-3);
  std::size_t expected = 0;
  for (const auto& t : reference_->tensors()) expected += t.name.starts_with("grad.") ? 1 : 0;
  EXPECT_EQ(names.size(), expected);
}

// The loss and all gradients of the trained parameters, one after the other.
std::vector<std::vector<float>> computed(nn::SpeechModel& model, const nn::TokenBatch& batch,
                                         core::DType compute = core::DType::f32) {
  std::vector<core::Array*> arrays;
  for (auto& p : model.parameters())
    if (p.trainable) arrays.push_back(p.array);
  const auto result = core::value_and_grad(
      arrays, [&] { return model.objective(batch, std::nullopt, {.compute = compute}).loss; });
  std::vector<std::vector<float>> out{{static_cast<float>(result.value.item())}};
  for (const auto& g : result.gradients) out.push_back(g.to_vector<float>());
  return out;
}

TEST_P(WhisperParity, GradientsHaveTheSameBitsWithEveryPolicy) {
  const auto want = computed(*model_, batch_);
  for (const std::string policy : {"true", "2", "nested"}) {
    const auto config = models::model_config_from_hf(model_->hf_config(), "config.json");
    config->set_remat(nn::RematPolicy::parse(policy));
    const auto model = models::make_model(*config, model_->shape().vocab, Key{});
    checkpoint::load_hugging_face(folder(), hf_parameters(*model));
    EXPECT_EQ(computed(require_speech(*model, folder()), batch_), want) << policy;
  }
}

// Heads and MLP of encoder and decoder, and the vocabulary too, divided between two workers: what they have together is
// what the reference has.
TEST_P(WhisperParity, TwoWorkersThatDivideTheModel) {
  for (const std::string axes : {"[heads, mlp]", "[heads, mlp, vocab]"}) {
    const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
      const auto loaded = load_run({}, {{"model.type", "whisper"},
                                        {"initialize_from_hf", folder()},
                                        {"use_hf_model_config", "true"},
                                        {"trainer.train_batch_size", "2"},
                                        {"trainer.tensor_parallel_axes", axes},
                                        {"trainer.model_axis_size", "2"}});
      PlacedModel placed(loaded, mesh::testing::borrowed(c), model_->shape().vocab);
      auto& model = require_speech(*placed, folder());
      std::int64_t held = 0;
      for (const auto& p : placed.parameters()) held += p.array->numel();
      EXPECT_LT(held, placed.counts().all);
      static constexpr std::string_view kEncoded[] = {"batch", "frame", "embed"},
                                        kLogits[] = {"batch", "position", "vocab"};
      const auto encoded = model.encode(batch_.features, {});
      expect_reference("encoder_last_hidden_state", core::whole({encoded, kEncoded}));
      expect_reference("logits", core::whole({model.logits(batch_.ids, model.hear(encoded), {}), kLogits}));
      const auto reducer = mesh::make_tree_reducer(placed.mesh().lanes(), model.parameters());
      const auto sum = reducer->reduce(1, [&](std::int64_t) {
        const auto objective = model.objective(batch_, std::nullopt, {});
        const auto mean = core::binary(core::Binary::divide, {objective.loss, {}}, objective.weight.item());
        return mesh::LaneLoss{core::whole({mean, {}}), 1};
      });
      expect_close("loss", {static_cast<float>(sum.scalars[0])}, floats("loss"), 1e-5, 0);
      const auto trained = core::trainable_parameters(model.parameters());
      ASSERT_EQ(sum.arrays.size(), trained.size());
      for (std::size_t i = 0; i < trained.size(); ++i) {
        const auto& p = trained[i];
        const auto name = "grad." + model.hf_name(p.path).name;
        const auto gradient = core::whole({core::like(*p.array, sum.arrays[i]), p.axes});
        expect_close(name, gradient.to_vector<float>(), floats(name), 1e-5, 1e-3);
      }
    });
    for (const auto& error : errors) EXPECT_EQ(error, "") << axes;
  }
}

// As far from fp32 as transformers 4.57.6 is: the distance of all gradients together, by their size.
TEST_P(WhisperParity, Bf16IsAsNearAsThatOfTransformers) {
  const double theirs = folder() == kOwn ? 0.0281 : 0.0131;
  const auto want = computed(*model_, batch_), got = computed(*model_, batch_, core::DType::bf16);
  EXPECT_NEAR(got[0][0], want[0][0], 2.5e-3 * want[0][0]);
  double distance = 0, size = 0;
  for (std::size_t i = 1; i < want.size(); ++i) {
    for (std::size_t j = 0; j < want[i].size(); ++j) {
      distance += std::pow(got[i][j] - want[i][j], 2);
      size += std::pow(want[i][j], 2);
    }
  }
  EXPECT_LE(std::sqrt(distance), 1.1 * theirs * std::sqrt(size));
}

// Of a row, from its first three tokens on, until the decoder is full.
TEST_P(WhisperParity, GreedyContinuations) {
  auto expected = std::vector<std::vector<std::int32_t>>{
      {29, 72,  64,  8,   8,  8,  8,  8,   8,   8,   8,   8,   8,   8,   8,   28,
       85, 109, 109, 109, 62, 62, 62, 140, 140, 140, 140, 140, 140, 140, 140, 140},
      {40, 32, 104, 62, 106, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 5,
       5,  5,  5,   5,  5,   62, 23, 23, 62, 23, 23, 23, 23, 23, 5,  62}};
  const auto file = folder() + "/generation.json";
  if (folder() == kOwn) expected = parse_json(read_text(file), file)["rows"];
  const auto shape = model_->shape();
  const auto all = floats("input_features");
  const auto size = shape.mel_bins * shape.frames;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * size;
    const auto heard = model_->hear(model_->encode(features({begin, begin + size}), {}));
    std::vector<std::int32_t> ids(expected[row].begin(), expected[row].begin() + 3), next = ids;
    nn::KvCache cache(shape.layers, {shape.seq_len});
    while (std::ssize(ids) < shape.seq_len) {
      nn::CachePass pass(cache, {0});
      const auto logits = model_->logits(array_of({"batch", "position"}, {1, std::ssize(next)}, next), heard,
                                         {.cache = &pass});
      next = {infer::most_probable(logits.to_vector<float>())};
      ids.push_back(next.front());
    }
    EXPECT_EQ(ids, expected[row]);
  }
}

TEST_P(WhisperParity, ExportThenImportIsBitEqual) {
  const auto to = testing::TempDir() + "bora_parity_export_" + base_name(folder());
  const auto generation = generation_of(folder(), std::nullopt, model_->shape().vocab);
  export_hugging_face(*model_, std::nullopt, generation, to, core::DType::f32);
  const checkpoint::SafetensorsFile before(folder() + "/model.safetensors"), after(to + "/model.safetensors");
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const auto& t : before.tensors()) {
    EXPECT_EQ(after.at(t.name).shape, t.shape) << t.name;
    EXPECT_EQ(after.floats(t.name), before.floats(t.name)) << t.name;
  }
  auto config = load_speech(to)->hf_config(), given = model_->hf_config();
  for (const char* key : {"torch_dtype", "dtype"}) {
    config.erase(key);
    given.erase(key);
  }
  EXPECT_EQ(config, given);
}

TEST_P(WhisperParity, SinusoidsOfANewModelAreThoseOfTheFile) {
  auto config = whisper::Config::from_hf(model_->hf_config(), "config.json");
  auto fresh = whisper::erase_type(
      whisper::Whisper::init(config, Dim<whisper::Vocab>{model_->shape().vocab}, Key::from_seed(1)));
  const checkpoint::SafetensorsFile file(folder() + "/model.safetensors");
  for (const auto& p : fresh->parameters()) {
    if (p.path != "encoder.embed_positions.weight") continue;
    EXPECT_FALSE(p.trainable);
    expect_close(p.path, p.array->to_vector<float>(), file.floats("model." + p.path), 1e-5, 0);
  }
}

TEST_P(WhisperParity, RefusesWhatDoesNotFit) {
  const auto refusal = [&](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const auto features = array_of<float>({"batch", "mel", "frame"}, {1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(refusal([&] { model_->encode(features, {}); }),
              testing::HasSubstr(
                  fmt::format("whisper: features of 2 mel bins and 2 frames, but the model hears {} and {}",
                              model_->shape().mel_bins, model_->shape().frames)));
  const auto heard = model_->hear(model_->encode(batch_.features, {}));
  const auto n = model_->shape().seq_len + 1;
  const auto ids =
      array_of({"batch", "position"}, {2, n}, std::vector<std::int32_t>(static_cast<std::size_t>(2 * n), 1));
  EXPECT_THAT(
      refusal([&] { model_->logits(ids, heard, {}); }),
      testing::HasSubstr(fmt::format("whisper: {} tokens, but the decoder has {} positions", n, n - 1)));
  EXPECT_THAT(refusal([&] { model_->objective({.ids = batch_.ids}, std::nullopt, {}); }),
              testing::HasSubstr("whisper: it hears sound, but a batch has none"));
  EXPECT_THAT(refusal([&] { (void)static_cast<nn::LanguageModel&>(*model_).logits(batch_.ids, {}); }),
              testing::HasSubstr("a model of speech writes what it hears"));
}

INSTANTIATE_TEST_SUITE_P(OfBoth, WhisperParity, testing::Values(kOwn, kShared),
                         [](const auto& test) { return test.index == 0 ? "own" : "shared"; });

}  // namespace
}  // namespace bora::run
