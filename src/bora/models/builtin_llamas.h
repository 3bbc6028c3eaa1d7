// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::models {

// Llama and the families near it: parts of add_builtin_models, each compiled for itself.
void add_llama_models();  ///< llama, mistral
void add_qwen_models();   ///< qwen2, qwen3
void add_olmo_models();   ///< olmo2, smollm3
void add_phi_models();    ///< granite, phi3

}  // namespace bora::models
