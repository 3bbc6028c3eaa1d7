// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Real tokenizers against what `tokenizers` 0.22.2 makes of 417 texts each.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/tokenize/post/stream_decoder.h"
#include "bora/tokenize/tokenizer.h"

namespace bora {
namespace {

class TokenizerCases : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::string(BORA_SHARED_DIR) + "/data/tokenizers/" + GetParam();
    if (!exists(folder_ + "/tokenizer.json")) GTEST_SKIP() << "no " << folder_ << " here";
    tokenizer_.emplace(Tokenizer::load(folder_));
    const std::string text = read_text(folder_ + "/cases.jsonl");
    for (const std::string& line : split(text, '\n')) {
      if (!line.empty()) cases_.push_back(parse_json(line, "cases.jsonl"));
    }
    ASSERT_GT(cases_.size(), 400u);
  }

  using Ids = std::vector<std::int32_t>;
  static Ids ids_of(const Json& json) { return json.get<Ids>(); }
  static std::vector<std::int64_t> flat(const std::vector<CodePointSpan>& spans) {
    std::vector<std::int64_t> out;
    for (const auto& s : spans) out.insert(out.end(), {s.begin, s.end});
    return out;
  }

  std::string folder_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<Json> cases_;
};

TEST_P(TokenizerCases, IdsOffsetsAndTextAreThoseOfTokenizers) {
  for (const Json& c : cases_) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto text = c["text"].get<std::string>();
    const Encoding plain = tokenizer_->encode(text, false);
    EXPECT_EQ(plain.ids, ids_of(c["ids"]));
    EXPECT_EQ(flat(plain.offsets), c["offsets"].get<std::vector<std::int64_t>>());
    const Encoding special = tokenizer_->encode(text);
    EXPECT_EQ(special.ids, ids_of(c["ids_special"]));
    EXPECT_EQ(special.offsets.size(), special.ids.size());

    const auto decoded = c["decoded"].get<std::string>();
    EXPECT_EQ(tokenizer_->decode(plain.ids), decoded);
    EXPECT_EQ(tokenizer_->decode(special.ids, true), c.value("decoded_skip", decoded));
  }
}

TEST_P(TokenizerCases, FastPathGivesTheSameIds) {
  for (int round = 0; round < 2; ++round) {  // the second time from the cache
    Ids all, got;
    for (const Json& c : cases_) {
      const auto text = c["text"].get<std::string>();
      const Ids expected = ids_of(c["ids_special"]);
      all.insert(all.end(), expected.begin(), expected.end());
      tokenizer_->encode_ids(text, got, true);
      ASSERT_EQ(got, all) << c["name"];
    }
  }
}

TEST_P(TokenizerCases, BatchesAndNoCacheGiveTheSameIds) {
  std::vector<std::string> texts;
  for (const Json& c : cases_) texts.push_back(c["text"].get<std::string>());
  const std::vector<std::string> again(texts.begin(), texts.begin() + 400);
  for (int i = 0; i < 3; ++i) texts.insert(texts.end(), again.begin(), again.end());  // several tasks
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto all = tokenizer_->encode_batch(views, true, SpecialInText::Recognised, 3);
  ASSERT_EQ(all.size(), views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Json& c = cases_[i < cases_.size() ? i : (i - cases_.size()) % 400];
    ASSERT_EQ(all[i], ids_of(c["ids_special"])) << c["name"];
    Ids bare;
    tokenizer_->encode_ids(views[i], bare, true, SpecialInText::Recognised, false);
    ASSERT_EQ(bare, all[i]) << c["name"];
  }
}

TEST_P(TokenizerCases, StreamGivesTheDecodedText) {
  StreamDecoder stream(*tokenizer_, false);
  for (const Json& c : cases_) {
    std::string text;
    for (const std::int32_t id : ids_of(c["ids"])) {
      const std::string piece = stream.push(id);
      EXPECT_FALSE(invalid_utf8(piece)) << c["name"];
      text += piece;
    }
    text += stream.finish();
    EXPECT_EQ(text, c["decoded"].get<std::string>()) << c["name"];
  }
}

TEST_P(TokenizerCases, SavedTokenizerIsTheSame) {
  const std::string directory = testing::TempDir() + "/saved_" + GetParam();
  tokenizer_->save(directory);
  const Tokenizer again = Tokenizer::load(directory);
  EXPECT_EQ(again.fingerprint(), tokenizer_->fingerprint());
  EXPECT_EQ(again.bos_id(), tokenizer_->bos_id());
  EXPECT_EQ(again.eos_id(), tokenizer_->eos_id());
  EXPECT_EQ(again.vocab_size(), tokenizer_->vocab_size());
  for (std::size_t i = 0; i < cases_.size(); i += 7) {
    Ids ids;
    again.encode_ids(cases_[i]["text"].get<std::string>(), ids, true);
    EXPECT_EQ(ids, ids_of(cases_[i]["ids_special"])) << cases_[i]["name"];
  }
  remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Shared, TokenizerCases,
                         testing::Values("gpt2", "phi-2", "whisper-tiny", "qwen2", "clip", "llama2",
                                         "all-minilm-l6-v2", "t5-small"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bora
