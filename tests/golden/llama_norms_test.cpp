// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A Llama with Levanter's further norms is trained and read again, and never exported as another model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

TEST(LlamaNorms, AreTrainedAndNotExported) {
  const auto folder = small_project("llama_norms");
  auto text = read_text(folder + "/config.yaml");
  const auto from = text.find("model:"), to = text.find("trainer:");
  text.replace(
      from, to - from,
      "model: {type: llama, seq_len: 32, hidden_dim: 32, intermediate_dim: 48, num_layers: 2, num_heads: 4,\n"
      "        hybrid_norm: true, input_embedding_norm: true}\n");
  write_atomically(folder + "/config.yaml", text);
  const auto done = run(folder, {"train", "config.yaml", "--trainer.num_train_steps=3", "--trainer.threads=1",
                                 "--hf_export=true"});
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("no Hugging Face export: model.hybrid_norm is set"));
  EXPECT_FALSE(exists(folder + "/runs/run/hf"));
  const auto more = run(folder, {"generate", "runs/run", "the moon", "--max_new_tokens", "3"});
  EXPECT_EQ(more.code, 0) << more.output;
  for (const char* format : {"hf", "gguf"}) {
    const auto refused = run(folder, {"export", "runs/run", "out", "--format", format});
    EXPECT_EQ(refused.code, 1) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("the Llama of Hugging Face and of llama.cpp has no such norm"))
        << format;
    EXPECT_FALSE(exists(folder + "/out"));
  }
}

}  // namespace
}  // namespace bora::golden
