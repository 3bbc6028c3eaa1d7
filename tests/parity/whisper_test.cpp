// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The tiny reference model of speech: features, hidden states, logits, loss, gradients and greedy continuations
// equal those that Hugging Face computes.
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
#include "bora/infer/sampler.h"
#include "bora/models/whisper.h"
#include "bora/nn/kv_cache.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

const std::string kFolder = BORA_SHARED_DIR "/data/models/whisper";

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

class WhisperParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!exists(kFolder)) GTEST_SKIP() << "no further reference model at " << kFolder;
    reference_ = std::make_unique<checkpoint::SafetensorsFile>(kFolder + "/reference.safetensors");
    model_ = load_speech_model(kFolder);
    batch_.features = array_of<float>({"batch", "mel", "frame"}, {2, 80, 200}, floats("input_features"));
    batch_.text.ids = tokens("decoder_input_ids");
    batch_.text.targets = tokens("labels");
    batch_.text.weights = array_of({"batch", "position"}, {2, 24}, std::vector<float>(48, 1));
  }
  std::vector<float> floats(const std::string& name) const { return reference_->floats(name); }
  core::Array tokens(const std::string& name) const {
    return array_of({"batch", "position"}, {2, 24}, ids_of(*reference_, name));
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
  nn::SpeechBatch batch_;
  std::function<void(std::int64_t, const core::Array&)> probe_;
  std::map<std::string, std::vector<float>> seen_;
};

TEST_F(WhisperParity, Features) {
  const audio::LogMel log_mel(audio::read_feature_config(kFolder + "/preprocessor_config.json"));
  const auto waveform = floats("waveform");
  std::vector<float> features;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto one = log_mel(std::span(waveform).subspan(row * 32000, 32000));
    features.insert(features.end(), one.begin(), one.end());
  }
  expect_close("input_features", features, floats("input_features"), 1e-4, 0);
}

TEST_F(WhisperParity, HiddenStatesAndLogits) {
  const auto encoded = model_->encode(batch_.features, observing("encoder_hidden_states."));
  expect_reference("encoder_last_hidden_state", encoded);
  const auto heard = model_->hear(encoded);
  expect_reference("logits", model_->logits(batch_.text.ids, heard, observing("decoder_hidden_states.")));
  EXPECT_EQ(seen_.size(), 6U);
  for (const auto& [name, values] : seen_) expect_close(name, values, floats(name), 5e-5, 1e-4);
}

TEST_F(WhisperParity, LossAndEveryGradient) {
  std::vector<core::Array*> arrays;
  std::vector<std::string> names;
  for (auto& p : model_->parameters()) {
    if (!p.trainable) continue;
    arrays.push_back(p.array);
    names.push_back("grad." + model_->hf_name(p.path).name);
  }
  const auto result = core::value_and_grad(arrays, [&] {
    const auto objective = model_->objective(batch_, {});
    return core::binary(core::Binary::divide, {objective.loss, {}}, objective.weight.item());
  });
  expect_close("loss", {static_cast<float>(result.value.item())}, floats("loss"), 1e-5, 0);
  for (std::size_t i = 0; i < names.size(); ++i)
    expect_close(names[i], result.gradients[i].to_vector<float>(), floats(names[i]), 1e-5, 1e-3);
  std::size_t expected = 0;
  for (const auto& t : reference_->tensors()) expected += t.name.starts_with("grad.") ? 1 : 0;
  EXPECT_EQ(names.size(), expected);
}

// Of a row, from its first three tokens on, until the decoder is full.
TEST_F(WhisperParity, GreedyContinuations) {
  const std::vector<std::vector<std::int32_t>> expected = {
      {29, 72,  64,  8,   8,  8,  8,  8,   8,   8,   8,   8,   8,   8,   8,   28,
       85, 109, 109, 109, 62, 62, 62, 140, 140, 140, 140, 140, 140, 140, 140, 140},
      {40, 32, 104, 62, 106, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 5,
       5,  5,  5,   5,  5,   62, 23, 23, 62, 23, 23, 23, 23, 23, 5,  62}};
  const auto all = floats("input_features");
  for (std::size_t row = 0; row < 2; ++row) {
    const std::vector<float> one(all.begin() + static_cast<std::ptrdiff_t>(row * 16000),
                                 all.begin() + static_cast<std::ptrdiff_t>(row * 16000 + 16000));
    const auto heard =
        model_->hear(model_->encode(array_of({"batch", "mel", "frame"}, {1, 80, 200}, one), {}));
    std::vector<std::int32_t> ids(expected[row].begin(), expected[row].begin() + 3), next = ids;
    nn::KvCache cache(model_->shape().layers, {32});
    while (ids.size() < 32) {
      nn::CachePass pass(cache, {0});
      const auto logits = model_->logits(array_of({"batch", "position"}, {1, std::ssize(next)}, next), heard,
                                         {.cache = &pass});
      next = {infer::most_probable(logits.to_vector<float>())};
      ids.push_back(next.front());
    }
    EXPECT_EQ(ids, expected[row]);
  }
}

TEST_F(WhisperParity, ExportThenImportIsBitEqual) {
  const auto to = testing::TempDir() + "bora_parity_export_whisper";
  export_speech_model(*model_, to, core::DType::f32);
  const checkpoint::SafetensorsFile before(kFolder + "/model.safetensors"), after(to + "/model.safetensors");
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const auto& t : before.tensors()) {
    EXPECT_EQ(after.at(t.name).shape, t.shape) << t.name;
    EXPECT_EQ(after.floats(t.name), before.floats(t.name)) << t.name;
  }
  auto config = load_speech_model(to)->hf_config();
  config.erase("torch_dtype");
  EXPECT_EQ(config, model_->hf_config());
}

TEST_F(WhisperParity, SinusoidsOfANewModelAreThoseOfTheFile) {
  auto config = whisper::Config::from_hf(model_->hf_config(), "config.json");
  auto fresh = whisper::erase_type(whisper::Whisper::init(config, Key::from_seed(1)));
  const checkpoint::SafetensorsFile file(kFolder + "/model.safetensors");
  for (const auto& p : fresh->parameters()) {
    if (p.path != "encoder.embed_positions.weight") continue;
    EXPECT_FALSE(p.trainable);
    expect_close(p.path, p.array->to_vector<float>(), file.floats("model." + p.path), 1e-5, 0);
  }
}

TEST_F(WhisperParity, RefusesWhatDoesNotFit) {
  const auto refusal = [&](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const auto features = array_of<float>({"batch", "mel", "frame"}, {1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      refusal([&] { model_->encode(features, {}); }),
      testing::HasSubstr("whisper: features of 2 mel bins and 2 frames, but the model hears 80 and 200"));
  const auto heard = model_->hear(model_->encode(batch_.features, {}));
  const auto ids = array_of({"batch", "position"}, {2, 33}, std::vector<std::int32_t>(66, 1));
  EXPECT_THAT(refusal([&] { model_->logits(ids, heard, {}); }),
              testing::HasSubstr("whisper: 33 tokens, but the decoder has 32 positions"));
}

}  // namespace
}  // namespace bora::run
