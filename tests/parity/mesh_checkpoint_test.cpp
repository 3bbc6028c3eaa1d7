// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A checkpoint of mesh-transformer-jax, made by make_mesh_checkpoint.py, gives the logits that transformers computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/models/test_builtin_models.h"
#include "bora/run/forward.h"
#include "bora/run/models.h"

namespace bora::run {
namespace {

TEST(MeshCheckpoint, HasTheLogitsOfTransformers) {
  const std::string folder = BORA_SOURCE_DIR "/tests/parity/mesh-gptj";
  const auto reference = parse_json(read_text(folder + "/logits.json"), "logits.json");
  const auto ids = reference["ids"].get<std::vector<std::int32_t>>();
  const auto expected = reference["logits"].get<std::vector<float>>();
  for (const char* place : {"", "/step_7"}) {
    const auto model = load_model(folder + place);
    const auto logits = forward(*model, ids, 1, std::ssize(ids), {}).at("logits").values;
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-4) << i;
    EXPECT_EQ(model->hf_config()["rotary_dim"], 2);
  }
}

}  // namespace
}  // namespace bora::run
