// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/stream_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/text.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora {
namespace {

using Ids = std::vector<std::int32_t>;

std::string streamed(const Tokenizer& t, const Ids& ids, bool skip_special = false) {
  StreamDecoder stream(t, skip_special);
  std::string out;
  for (const std::int32_t id : ids) {
    const std::string piece = stream.push(id);
    EXPECT_FALSE(invalid_utf8(piece));
    out += piece;
  }
  return out + stream.finish();
}

TEST(StreamDecoder, HoldsBackOpenCharacters) {
  const Tokenizer t = tokenize::tiny();
  Ids ids;
  t.encode_ids("é€\U0001F600", ids);
  ASSERT_EQ(ids.size(), 9u);
  StreamDecoder stream(t);
  std::vector<std::string> pieces;
  for (const std::int32_t id : ids) pieces.push_back(stream.push(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "é", "", "", "€", "", "", "", "\U0001F600"}));
  EXPECT_EQ(stream.finish(), "");
}

TEST(StreamDecoder, FinishGivesWhatIsOpen) {
  const Tokenizer t = tokenize::tiny();
  Ids ids;
  t.encode_ids("a€", ids);
  ids.pop_back();
  StreamDecoder stream(t);
  std::string out;
  for (const std::int32_t id : ids) out += stream.push(id);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.push(ids[0]), "a");  // as new
}

TEST(StreamDecoder, LongTextsOfAllKinds) {
  const Tokenizer bytes = tokenize::tiny(), pieces = Tokenizer::from_json(tokenize::kSentencePiece);
  std::string text;
  for (int i = 0; i < 60; ++i) text += " some é words € \U0001F600\U0001F468\u200d\U0001F469 \ufffd again";
  for (const Tokenizer& t : {bytes, pieces}) {
    Ids ids;
    t.encode_ids(text, ids, true);
    EXPECT_EQ(streamed(t, ids, true), t.decode(ids, true));
  }
}

TEST(StreamDecoder, NoiseOfByteTokens) {
  const Tokenizer t = tokenize::tiny();
  Ids ids;
  std::uint32_t state = 9;
  for (int i = 0; i < 3000; ++i)
    ids.push_back(static_cast<std::int32_t>((state = state * 1664525 + 1013904223) >> 8) % 300);
  EXPECT_EQ(streamed(t, ids), t.decode(ids));
}

TEST(StreamDecoder, SpecialTokens) {
  const Tokenizer t = Tokenizer::from_json(tokenize::kTiny);
  EXPECT_EQ(streamed(t, {4, 7, 2}, true), "abc");
  EXPECT_EQ(streamed(t, {4, 7, 2}, false), "ab<end>c");
  EXPECT_EQ(streamed(t, {4, 999, -1, 2}, false), "abc");  // no such ids
}

}  // namespace
}  // namespace bora
