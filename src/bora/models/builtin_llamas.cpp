// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_llamas.h"

#include "bora/models/add_model.h"
#include "bora/models/llama.h"
#include "bora/models/mistral.h"

namespace bora::models {

void add_llama_models() {
  add_model<llama::Llama>("llama", "Llama 1, 2 and 3 (Touvron et al. 2023; Grattafiori et al. 2024)");
  add_model<mistral::Mistral>("mistral", "Mistral 7B (Jiang et al. 2023)");
}

}  // namespace bora::models
