// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// What a model's field walk yields for each parameter; checkpoints, optimizers, counting and Hugging Face
/// maps all use this one list. Order: the order of declaration, depth first.
struct ParamRef {
  std::string path;                     ///< "layers.0.attn.q_proj.weight"
  std::string module;                   ///< kinds of the modules on the way: "Llama.Block.Attention.Linear"
  std::vector<std::string_view> names;  ///< axes, in the order of the array's dimensions
  std::vector<std::string_view>
      inputs;    ///< of these, the contracted (fan-in) axes of a linear map; else empty
  Array* array;  ///< in the model; stays where it is while the model lives
};

}  // namespace bora::core
