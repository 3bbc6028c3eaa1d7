// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/builtin.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/llama_config.h"
#include "bora/models/model_types.h"

namespace bora::models {

void add_builtin_configs() {
  add_type<gpt2::Config>("gpt2");
  add_type<llama::Config>("llama");
}

}  // namespace bora::models
