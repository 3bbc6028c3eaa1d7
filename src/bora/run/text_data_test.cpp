// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/text_data.h"

#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/store/cache_builder.h"
#include "bora/store/token_files.h"

namespace bora::run {
namespace {

TEST(DescribeCaches, ImportedIdsHaveNoBytes) {
  const std::string folder = testing::TempDir() + "describe_caches";
  remove_all(folder);
  files().make_directories(folder);
  const auto at = [&](const std::string& name) { return path_join(folder, name); };
  write_atomically(at("ids.bin"), std::string("\1\0\2\0\3\0\4\0", 8));
  const auto ids = store::import_tokens(at("ids"), {at("ids.bin")}, store::TokenFiles::RawU16);
  EXPECT_EQ(describe_caches({{"ids", {}, ids, nullptr, nullptr, nullptr}}), "4 tokens");
  write_atomically(at("a.txt"), "a a a a a");
  const auto words = Tokenizer::from_json(
      R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,)"
      R"("decoder":null,"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}}})");
  const auto text = store::build_cache(at("text"), {at("a.txt")}, data::TokenizerProcessor(words, false));
  EXPECT_EQ(describe_caches({{"text", {}, text, nullptr, nullptr, nullptr}}), "5 tokens · 1.80 bytes each");
  EXPECT_EQ(describe_caches(
                {{"ids", {}, ids, nullptr, nullptr, nullptr}, {"text", {}, text, nullptr, nullptr, nullptr}}),
            "9 tokens · 1.80 bytes each")
      << "of those that are text";
  EXPECT_EQ(describe_caches({}), "0 tokens");
  remove_all(folder);
}

}  // namespace
}  // namespace bora::run
