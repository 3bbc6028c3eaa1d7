// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hf_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"
#include "bora/models/model_types.h"

namespace bora::run {
namespace {

template <class Config>
std::string directory_of(const char* name, const Config& config) {
  auto directory = testing::TempDir() + "hf_start_" + name;
  files().make_directories(directory);
  write_atomically(directory + "/config.json", config.to_hf(300).dump());
  return directory;
}

llama::Config small() {
  llama::Config c;
  c.seq_len = 64;
  c.hidden_dim = 32;
  c.intermediate_dim = 48;
  c.num_layers = 2;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  return c;
}

std::string error_of(const std::string& directory, const std::shared_ptr<models::ModelConfig>& given) {
  try {
    config_to_start_from(directory, given, false);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "";
}

TEST(HfStart, TheirsCountsButForRemat) {
  auto directory = directory_of("theirs", small());
  auto given = std::make_shared<models::ModelConfigOf<llama::Config>>("llama");
  given->set_remat({nn::RematPolicy::Kind::nested});
  auto config = config_to_start_from(directory, given, true);
  EXPECT_EQ(config->shape(300).hidden, 32);
  EXPECT_EQ(config->seq_len(), 64);
  EXPECT_EQ(config->remat().text(), "nested");
}

TEST(HfStart, TheBlockCountsWhereItsSizesAreTheirs) {
  auto directory = directory_of("ours", small());
  auto ours = small();
  ours.seq_len = 16;
  auto given = std::make_shared<models::ModelConfigOf<llama::Config>>("llama", ours);
  EXPECT_EQ(config_to_start_from(directory, given, false)->seq_len(), 16);
  ours.seq_len = 128;
  ours.num_layers = 3;
  given = std::make_shared<models::ModelConfigOf<llama::Config>>("llama", ours);
  EXPECT_EQ(error_of(directory, given),
            "initialize_from_hf: the model block is not the model of " + directory +
                "/config.json:\n  layers: 3 in the model block, 2 in config.json\n  seq_len: 128 in the "
                "model block, "
                "64 in config.json\nhint: use_hf_model_config: true takes all of it from there");
}

TEST(HfStart, TellsOfKeysWithoutEffect) {
  const auto directory = directory_of("without_effect", small());
  const auto file = directory + "/c.yaml";
  write_atomically(file,
                   "initialize_from_hf: " + directory +
                       "\nuse_hf_model_config: true\n"
                       "model: {type: llama, seq_len: 16, num_layers: 2, gradient_checkpointing: nested}\n");
  const auto loaded = load_run({file}, {});
  EXPECT_EQ(loaded.config.model.config->seq_len(), 64);
  EXPECT_THAT(loaded.warnings,
              testing::ElementsAre("model.seq_len (" + file +
                                   ":3): 16 has no effect; with use_hf_model_config the model is that of " +
                                   directory +
                                   "/config.json, which has 64; leave use_hf_model_config out for a "
                                   "model block that counts"));
}

TEST(HfStart, LearnedPositionsAreParameters) {
  gpt2::Config theirs;
  theirs.seq_len = 32;
  auto directory = directory_of("gpt2", theirs);
  auto ours = theirs;
  ours.seq_len = 16;
  EXPECT_NE(error_of(directory, std::make_shared<models::ModelConfigOf<gpt2::Config>>("gpt2", ours))
                .find("seq_len: 16 in the model block, 32 in config.json"),
            std::string::npos);
}

TEST(HfStart, AGgufFileBecomesARunFirst) {
  const auto folder = testing::TempDir() + "hf_start_gguf";
  files().make_directories(folder);
  write_atomically(folder + "/a.gguf", "GGUF");
  write_atomically(folder + "/c.yaml", "initialize_from_hf: " + folder + "/a.gguf\n");
  try {
    load_run({folder + "/c.yaml"}, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr(folder + "/a.gguf is a GGUF file; make a run of it, bora import "));
    EXPECT_THAT(e.what(), testing::HasSubstr("/a.gguf runs/from-gguf, and set trainer.initialize_from: "));
  }
}

}  // namespace
}  // namespace bora::run
