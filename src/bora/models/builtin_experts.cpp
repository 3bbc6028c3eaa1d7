// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_experts.h"

#include "bora/models/add_model.h"
#include "bora/models/mixtral.h"

namespace bora::models {

void add_expert_models() { add_model<mixtral::Mixtral>("mixtral", "Mixtral (Jiang et al. 2024)"); }

}  // namespace bora::models
