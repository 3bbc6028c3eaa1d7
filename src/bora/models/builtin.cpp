// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin.h"

#include "bora/models/add_model.h"
#include "bora/models/llama.h"

namespace bora::models {

void add_builtin_models() {
  add_gpt_models();
  add_gemma_models();
  add_model<llama::Llama>("llama", "Llama 1, 2 and 3 (Touvron et al. 2023; Grattafiori et al. 2024)");
}

}  // namespace bora::models
