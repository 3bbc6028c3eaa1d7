// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/no_export.h"

#include <gtest/gtest.h>

#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"

namespace bora::run {
namespace {

TEST(NoExport, NamesTheOptionThatOthersDoNotHave) {
  llama::Config norms;
  EXPECT_EQ(why_no_export(norms.to_hf(20)), "");
  norms.hybrid_norm = true;
  EXPECT_EQ(why_no_export(norms.to_hf(20)),
            "model.hybrid_norm is set, and the Llama of Hugging Face and of llama.cpp has no such norm");
  llama::Config weights;
  weights.use_layer_norm_weight = false;
  EXPECT_EQ(why_no_export(weights.to_hf(20)),
            "model.use_layer_norm_weight is false, and the Llama of Hugging Face and of llama.cpp has such "
            "weights");
  gpt2::Config biases;
  EXPECT_EQ(why_no_export(biases.to_hf(20)), "");
  biases.use_bias = false;
  EXPECT_EQ(why_no_export(biases.to_hf(20)),
            "model.use_bias is false, and the GPT-2 of Hugging Face and of llama.cpp has biases");
}

}  // namespace
}  // namespace bora::run
