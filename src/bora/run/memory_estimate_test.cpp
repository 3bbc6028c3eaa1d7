// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/llama_config.h"

namespace bora::run {
namespace {

std::string error_of(const llama::Config& config, std::int64_t workers) {
  try {
    require_memory(models::ModelConfigOf<llama::Config>("llama", config), workers);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "";
}

TEST(RequireMemory, ParametersThatNoMachineHolds) {
  llama::Config config{.hidden_dim = 64, .intermediate_dim = 128, .num_layers = 2, .num_heads = 4};
  config.num_kv_heads = 4;
  EXPECT_EQ(error_of(config, 1), "");
  config.num_layers = 2'147'483'647;
  EXPECT_THAT(error_of(config, 1),
              testing::MatchesRegex("model: [0-9.]+ T parameters take [0-9]+ TB alone, and this machine has "
                                    "[0-9.]+ .B\nhint: a smaller model; --dry_run says what one takes"));
  EXPECT_THAT(error_of(config, 2), testing::HasSubstr(" TB of each worker, and this machine has "));
  EXPECT_EQ(error_of(config, 1'000'000'000), "");
}

}  // namespace
}  // namespace bora::run
