// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin.h"

#include "bora/models/add_model.h"
#include "bora/models/builtin_experts.h"
#include "bora/models/builtin_llamas.h"
#include "bora/models/gemma2.h"
#include "bora/models/gpt2.h"

namespace bora::models {

void add_builtin_models() {
  add_model<gpt2::Gpt2>("gpt2", "GPT-2 (Radford et al. 2019)");
  add_llama_models();
  add_qwen_models();
  add_olmo_models();
  add_phi_models();
  add_model<gemma2::Gemma2>("gemma2", "Gemma 2 (Gemma Team 2024)");
  add_expert_models();
}

}  // namespace bora::models
