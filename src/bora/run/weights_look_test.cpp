// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/weights_look.h"

#include <gtest/gtest.h>

#include "bora/base/file.h"

namespace bora::run {
namespace {

TEST(NewIds, OfATokenizerStayAlikeUnderAdapters) {
  const auto base = testing::TempDir() + "bora_new_ids";
  files().make_directories(base);
  write_atomically(base + "/config.json", R"({"model_type": "llama", "vocab_size": 1512})");
  LmConfig config;
  EXPECT_FALSE(problem_of_new_ids(config, 1514)) << "it begins with no model";
  config.initialize_from_hf = base;
  EXPECT_FALSE(problem_of_new_ids(config, 1514)) << "the new rows are trained";
  config.lora.emplace();
  for (const std::int64_t fewer : {1512, 9}) EXPECT_FALSE(problem_of_new_ids(config, fewer)) << fewer;
  const auto problem = problem_of_new_ids(config, 1514);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->key, "lora");
  EXPECT_EQ(
      problem->message,
      "the tokenizer (data.tokenizer) has 1,514 ids and " + base +
          " embeddings of 1,512: adapters leave these as they are, and the rows of new ids would all stay the "
          "mean of the others; train them first, in a run without lora and with hf_export: true (trainer.freeze "
          "may keep the layers), and start from its export (initialize_from_hf: RUN/hf), or take a tokenizer of "
          "at most 1,512 ids");
}

}  // namespace
}  // namespace bora::run
