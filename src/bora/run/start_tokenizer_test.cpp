// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/start_tokenizer.h"

#include <gtest/gtest.h>

namespace bora::run {
namespace {

// Words, and a special token behind them.
Tokenizer words_of(const std::vector<std::string>& words, const std::string& special) {
  std::string vocab;
  for (std::size_t i = 0; i < words.size(); ++i) vocab += fmt::format("\"{}\": {}, ", words[i], i);
  const auto last = words.size();
  return Tokenizer::from_json(fmt::format(
      R"({{"version": "1.0", "added_tokens": [{{"id": {1}, "content": "{2}", "special": true}}],
          "model": {{"type": "WordLevel", "vocab": {{{0}"{2}": {1}}}, "unk_token": "{2}"}}}})",
      vocab, last, special));
}

TEST(StartTokenizer, IdsThatBothHave) {
  const auto theirs = words_of({"a", "moon", "is"}, "<end>");
  EXPECT_EQ(first_other_piece(theirs, words_of({"a", "moon", "is"}, "<end>")), "");
  EXPECT_EQ(first_other_piece(theirs, words_of({"a", "moon", "is"}, "<|im_end|>")), "");
  EXPECT_EQ(first_other_piece(theirs, words_of({"a", "is", "moon"}, "<end>")),
            "id 1 is \"moon\" there and \"is\" here");
}

}  // namespace
}  // namespace bora::run
