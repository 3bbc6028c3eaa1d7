// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A long document reaches the tokenizer in pieces (store/documents.h). Its ids must be those of the whole
// text, wherever a piece has a line end between two characters that are no white space.
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/store/test_files.h"

namespace bora::data {
namespace {

std::vector<std::string> texts() {
  std::vector<std::string> out;
  for (std::uint64_t seed = 0; seed < 4; ++seed) out.push_back(store::sample_text(seed, 40'000));
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/text";
  if (!exists(folder)) return out;
  for (const auto& name : files().list(folder)) {
    const auto path = path_join(folder, name);
    if (!name.ends_with(".txt") || files().info(path)->is_directory) continue;
    out.push_back(read_text(path).substr(0, 200'000));
    while (invalid_utf8(out.back())) out.back().pop_back();
  }
  return out;
}

std::vector<std::int32_t> encode_in_pieces(const TokenizerProcessor& processor, std::string_view text,
                                           std::size_t longest) {
  std::vector<std::int32_t> out;
  for (bool begins = true; !text.empty(); begins = false) {
    const std::size_t size = text.size() <= longest ? text.size() : store::piece_end(text.substr(0, longest));
    processor.encode({text.substr(0, size), begins, size == text.size()}, out);
    text.remove_prefix(size);
  }
  return out;
}

TEST(ChunkedText, GivesTheIdsOfTheWholeText) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/tokenizers";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const char* name : {"gpt2", "phi-2", "qwen2", "whisper-tiny", "llama2", "t5-small"}) {
    const TokenizerProcessor processor(Tokenizer::load(path_join(folder, name)), false);
    for (const auto& text : texts()) {
      std::vector<std::int32_t> whole;
      processor.encode({text, true, true}, whole);
      for (const std::size_t longest : {std::size_t{5000}, std::size_t{70'000}})
        EXPECT_TRUE(encode_in_pieces(processor, text, longest) == whole) << name << ", pieces of " << longest;
    }
  }
}

}  // namespace
}  // namespace bora::data
