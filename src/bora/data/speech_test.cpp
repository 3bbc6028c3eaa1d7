// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Records of sound and text: from files to batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bora/audio/log_mel.h"
#include "bora/audio/sound.h"
#include "bora/audio/test_sounds.h"
#include "bora/data/formats.h"
#include "bora/data/loader.h"
#include "bora/data/pipeline.h"
#include "bora/data/speech_dataset.h"
#include "bora/data/speech_processor.h"
#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

// Letters a to e, and the special tokens of `names` from id 5 on.
Tokenizer letters(const std::vector<std::string>& names, const std::string& config) {
  Json vocab{{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {"e", 4}}, added = Json::array();
  for (const auto& name : names) {
    added.push_back({{"id", vocab.size()},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    vocab[name] = vocab.size();
  }
  Json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json json{{"version", "1.0"},
            {"added_tokens", added},
            {"normalizer", nullptr},
            {"pre_tokenizer", level},
            {"decoder", level},
            {"post_processor", nullptr},
            {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  return Tokenizer::from_json(json.dump(), config, "letters");
}

Tokenizer with_end() { return letters({"</s>"}, R"({"eos_token":"</s>"})"); }

Tokenizer of_whisper() {
  return letters({"</s>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"},
                 R"({"bos_token":"</s>","eos_token":"</s>"})");
}

Ids encoded(const SpeechProcessor& processor, const std::string& json) {
  store::EncodedRecord out;
  processor.encode_record(json, out);
  EXPECT_EQ(out.ends, std::vector<std::size_t>{out.ids.size()});
  EXPECT_TRUE(out.weights.empty());
  return out.ids;
}

const std::string kRecord = R"({"audio": "x.wav", "text": "abc"})";

TEST(SpeechProcessor, TextsHaveTheirControlTokens) {
  EXPECT_EQ(encoded({with_end(), {}}, kRecord), (Ids{5, 0, 1, 2, 5}));
  EXPECT_EQ(encoded({of_whisper(), {}}, kRecord), (Ids{6, 9, 0, 1, 2, 5}));
  SpeechProcessor::Fields fields{.audio = "sound", .text = "said", .language = "en", .task = "transcribe"};
  EXPECT_EQ(encoded({of_whisper(), fields}, R"({"sound": {"path": "x.wav"}, "said": "e"})"),
            (Ids{6, 7, 8, 9, 4, 5}));
  EXPECT_NE(SpeechProcessor(of_whisper(), fields).fingerprint(),
            SpeechProcessor(of_whisper(), {}).fingerprint());
}

TEST(SpeechProcessor, RefusesWhatIsNoSpeech) {
  const auto refused = [&](const std::string& json) {
    return error_of(ErrorKind::Corruption, [&] { encoded({with_end(), {}}, json); });
  };
  EXPECT_THAT(refused(R"({"text": "a"})"), HasSubstr("no field \"audio\""));
  EXPECT_THAT(
      refused(R"({"text": "a", "audio": [0.5]})"),
      HasSubstr("field \"audio\" should be the path of a file of sound, or an object with a \"path\", "
                "but is [0.5]"));
  EXPECT_THAT(refused(R"({"text": 1, "audio": "x.wav"})"), HasSubstr("field \"text\" should be a string"));
  EXPECT_THAT(error_of(ErrorKind::Config, [] { SpeechProcessor(letters({}, "{}"), {}); }),
              HasSubstr("it has no end-of-text token"));
  EXPECT_THAT(error_of(ErrorKind::Config,
                       [] { SpeechProcessor(of_whisper(), {.language = "de", .task = std::nullopt}); }),
              HasSubstr("format.language: de, but the tokenizer has no token <|de|>"));
}

// Three sounds of a second and less, with their texts.
class Speech : public testing::Test {
 protected:
  Speech() : folder_("speech") {
    const audio::test::Wav wav{.channels = 1, .rate = 16000};
    std::string lines;
    for (int i = 0; i < 3; ++i) {
      std::string data;
      for (const float x : audio::test::sine(300 + 200 * i, 16000, static_cast<std::size_t>(9000 + 3000 * i)))
        data += audio::test::le(static_cast<std::uint16_t>(static_cast<int>(x * 9000)), 2);
      const auto name = fmt::format("sounds/{}.wav", i);
      folder_.write("set/" + name, wav.file(data));
      lines += fmt::format("{{\"audio\": \"{}\", \"text\": \"{}\"}}\n", name, "abcde"[i]);
    }
    source_.train_urls = {folder_.write("set/train.jsonl", lines)};
    source_.format = FormatChoice("speech");
  }
  Datasets make(const SequenceShape& shape = kSequences) {
    DataConfig config;
    config.cache_dir = folder_ / "cache";
    config.configs = {{"said", source_}};
    config.shuffle = {"full", FullShuffle()};
    const auto processor = make_processor(source_.format, config, with_end());
    return make_datasets(config, build_caches(config, *processor, 1), shape, {}, 2, Key::from_seed(5));
  }
  std::vector<float> features(int i) const {
    const audio::LogMel log_mel(audio::whisper_features(10, 100));
    return log_mel(audio::read_mono(folder_ / fmt::format("set/sounds/{}.wav", i), 16000));
  }

  static inline const SequenceShape kSequences{6, {10, 100}};
  store::NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  store::TemporaryFolder folder_;
  SourceConfig source_;
};

TEST_F(Speech, TextsComeWithTheirSounds) {
  const auto train = make().train;
  ASSERT_TRUE(train);
  EXPECT_EQ(train->sound(), kSequences.sound);
  const Loader loader(train, 2);
  std::set<std::int32_t> seen;
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto batch = loader.batch(step);
    ASSERT_EQ(batch.features.size(), 2000u);
    for (std::size_t row = 0; row < 2; ++row) {
      const auto letter = batch.tokens[row * 6 + 1];
      seen.insert(letter);
      EXPECT_EQ(std::vector<float>(batch.features.begin() + static_cast<std::ptrdiff_t>(row * 1000),
                                   batch.features.begin() + static_cast<std::ptrdiff_t>(row * 1000 + 1000)),
                features(letter));
      EXPECT_EQ(batch.targets[row * 6], letter);
      EXPECT_EQ(batch.loss_weights[row * 6 + 1], 1) << "the end counts";
      EXPECT_EQ(batch.loss_weights[row * 6 + 2], 0) << "and nothing after it";
    }
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(Speech, OtherRowsAreNotHeard) {
  const Loader loader(make().train, 2);
  const auto whole = loader.batch(4), own = loader.batch(4, [](std::int64_t row, auto) { return row == 1; });
  EXPECT_EQ(std::count(own.features.begin(), own.features.begin() + 1000, 0.0F), 1000);
  EXPECT_TRUE(std::equal(own.features.begin() + 1000, own.features.end(), whole.features.begin() + 1000));
}

TEST_F(Speech, AugmentationFollowsFromTheSequenceAlone) {
  const auto train = make().train;
  const Augmentation augmentation{{.mask_time_prob = 0.2}, Key::from_seed(1)};
  const Loader plain(train, 2), loader(train, 2, augmentation), of_four(train, 4, augmentation);
  const auto batch = loader.batch(3);
  EXPECT_NE(batch.features, plain.batch(3).features);
  EXPECT_EQ(batch, loader.batch(3));
  EXPECT_EQ(batch.tokens, plain.batch(3).tokens);
  const auto wider = of_four.batch(1);
  EXPECT_TRUE(std::equal(batch.features.begin(), batch.features.end(), wider.features.begin() + 2000));
  EXPECT_EQ(loader.batch(3, RowRange{1, 2}).features,
            std::vector<float>(batch.features.begin() + 1000, batch.features.end()));
  const auto row = [&](std::int64_t step) {
    auto masked = loader.batch(step).features;
    const auto bare = plain.batch(step).features;
    std::vector<bool> same;
    for (std::size_t i = 0; i < 100; ++i) same.push_back(masked[i] == bare[i]);
    return same;
  };
  EXPECT_NE(row(0), row(3)) << "the same sound in a later pass";
}

TEST_F(Speech, SaysWhichSoundIsWrong) {
  EXPECT_THAT(
      error_of(ErrorKind::Config, [&] { make(6); }),
      HasSubstr("data set said: records of speech, but the model reads text\nhint: model.type: whisper"));
  EXPECT_THAT(error_of(ErrorKind::InvalidArgument, [&] { make({6, {10, 150}}); }),
              HasSubstr("150 frames are no whole number of seconds"));
  folder_.write("set/sounds/1.wav", "RIFF");
  const auto train = make().train;
  EXPECT_THAT(error_of(ErrorKind::Corruption,
                       [&] {
                         for (std::int64_t i = 0; i < 6; ++i) read_batch(*train, i, 1);
                       }),
              HasSubstr("set/sounds/1.wav"));
  const std::string data(2 * 24000, '\0');
  folder_.write("set/sounds/1.wav", audio::test::Wav{.channels = 1}.file(data));
  EXPECT_THAT(
      error_of(ErrorKind::Corruption,
               [&] {
                 for (std::int64_t i = 0; i < 6; ++i) read_batch(*train, i, 1);
               }),
      HasSubstr("set/sounds/1.wav: 1.50 s of sound, but the model hears 1 s at a time\nhint: cut it"));
  remove_all(folder_ / "set/sounds/1.wav");
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { make(); }),
              AllOf(HasSubstr("train.jsonl:2: the sound "), HasSubstr("set/sounds/1.wav is not there")));
}

TEST_F(Speech, KeysThatCutTextsFromSoundsAreRefused) {
  ConfigTree tree;
  tree.merge_text("format: {type: speech, pack: concat, slice_strategy: left}", "x.yaml");
  SourceConfig source;
  const auto problems = read_config(tree, source);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0].message, HasSubstr("each text belongs to its sound"));
  EXPECT_THAT(problems[1].message, HasSubstr("a text is never cut from its sound"));
}

}  // namespace
}  // namespace bora::data
