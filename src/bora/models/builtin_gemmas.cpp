// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/add_model.h"
#include "bora/models/builtin.h"
#include "bora/models/gemma.h"
#include "bora/models/gemma2.h"
#include "bora/models/gemma3.h"

namespace bora::models {

void add_gemma_models() {
  add_model<gemma::Gemma>("gemma", "Gemma (Gemma Team 2024)");
  add_model<gemma2::Gemma2>("gemma2", "Gemma 2 (Gemma Team 2024)");
  add_model<gemma3::Gemma3>("gemma3", "the text model of Gemma 3 (Gemma Team 2025)");
}

}  // namespace bora::models
