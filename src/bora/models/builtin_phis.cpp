// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_llamas.h"

#include "bora/models/add_model.h"
#include "bora/models/granite.h"
#include "bora/models/phi3.h"

namespace bora::models {

void add_phi_models() {
  add_model<granite::Granite>("granite", "Granite 3 (Granite Team 2024)");
  add_model<phi3::Phi3>("phi3", "Phi-3 and Phi-4-mini (Abdin et al. 2024)");
}

}  // namespace bora::models
