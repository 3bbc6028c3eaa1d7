// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bora/base/file.h"

namespace bora::run {

/// Folders with a tiny model and what Hugging Face computes with it. make_models.py says which files they
/// have, and makes those of this repository, which are always tested; the others are tested where they are
/// there.
inline std::vector<std::string> model_folders() {
  return {
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt2",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-llama-gqa-rope3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-llama-tied",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-mistral",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen2",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-olmo2",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-smollm3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-granite",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-phi3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-mixtral",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-backpack",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen2-moe",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen3-moe",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-olmoe",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma2",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt-neox",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gptj",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-mpt",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-olmo3",
      BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt-oss",
      BORA_SHARED_DIR "/data/models/gpt2",
      BORA_SHARED_DIR "/data/models/llama-gqa",
      BORA_SHARED_DIR "/data/models/llama-tied-rope3",
      BORA_SHARED_DIR "/data/models/mistral",
      BORA_SHARED_DIR "/data/models/qwen2",
      BORA_SHARED_DIR "/data/models/qwen3",
      BORA_SHARED_DIR "/data/models/olmo2",
      BORA_SHARED_DIR "/data/models/smollm3",
      BORA_SHARED_DIR "/data/models/granite",
      BORA_SHARED_DIR "/data/models/phi3",
      BORA_SHARED_DIR "/data/models/mixtral",
      BORA_SHARED_DIR "/data/models/qwen2-moe",
      BORA_SHARED_DIR "/data/models/qwen3-moe",
      BORA_SHARED_DIR "/data/models/olmoe",
      BORA_SHARED_DIR "/data/models/gpt-oss",
      BORA_SHARED_DIR "/data/models/gemma2",
      BORA_SHARED_DIR "/data/models/gemma",
      BORA_SHARED_DIR "/data/models/gemma3",
      BORA_SHARED_DIR "/data/models/gpt-neox",
      BORA_SHARED_DIR "/data/models/gptj",
      BORA_SHARED_DIR "/data/models/mpt",
      BORA_SHARED_DIR "/data/models/olmo3",
      BORA_SHARED_DIR "/data/models/stories260k",
  };
}

/// A test of every model folder.
class ModelFolderTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (folder().starts_with(BORA_SHARED_DIR) && !exists(folder()))
      GTEST_SKIP() << "no further reference model at " << folder();
  }
  const std::string& folder() const { return GetParam(); }
  std::string name() const { return base_name(folder()); }
};

/// "tiny_gpt2", for the name of a test.
inline std::string model_name(const testing::TestParamInfo<std::string>& info) {
  auto name = base_name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace bora::run
