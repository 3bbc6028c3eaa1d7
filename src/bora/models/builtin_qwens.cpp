// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin_llamas.h"

#include "bora/models/add_model.h"
#include "bora/models/qwen2.h"
#include "bora/models/qwen3.h"

namespace bora::models {

void add_qwen_models() {
  add_model<qwen2::Qwen2>("qwen2", "Qwen 2 and 2.5 (Qwen Team 2024)");
  add_model<qwen3::Qwen3>("qwen3", "Qwen 3 (Qwen Team 2025)");
}

}  // namespace bora::models
