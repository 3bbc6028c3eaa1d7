// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_experts.h"

#include "bora/models/add_model.h"
#include "bora/models/gpt_oss.h"
#include "bora/models/mixtral.h"
#include "bora/models/olmoe.h"
#include "bora/models/qwen2_moe.h"
#include "bora/models/qwen3_moe.h"

namespace bora::models {

void add_expert_models() {
  add_model<mixtral::Mixtral>("mixtral", "Mixtral (Jiang et al. 2024)");
  add_model<qwen2_moe::Qwen2Moe>("qwen2_moe", "Qwen 1.5 and 2 with experts (Yang et al. 2024)");
  add_model<qwen3_moe::Qwen3Moe>("qwen3_moe", "Qwen 3 with experts (Qwen Team 2025)");
  add_model<olmoe::Olmoe>("olmoe", "OLMoE (Muennighoff et al. 2024)");
  add_model<gpt_oss::GptOss>("gpt_oss", "GPT-OSS (OpenAI 2025)");
}

}  // namespace bora::models
