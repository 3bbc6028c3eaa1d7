// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin.h"

#include "bora/models/builtin_experts.h"
#include "bora/models/builtin_llamas.h"

namespace bora::models {

void add_builtin_models() {
  add_gpt_models();
  add_llama_models();
  add_qwen_models();
  add_olmo_models();
  add_phi_models();
  add_gemma_models();
  add_expert_models();
  add_speech_models();
}

}  // namespace bora::models
