// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_llamas.h"

#include "bora/models/add_model.h"
#include "bora/models/olmo2.h"
#include "bora/models/smollm3.h"

namespace bora::models {

void add_olmo_models() {
  add_model<olmo2::Olmo2>("olmo2", "OLMo 2 (OLMo Team 2024)");
  add_model<smollm3::SmolLm3>("smollm3", "SmolLM3 (Bakouch et al. 2025)");
}

}  // namespace bora::models
