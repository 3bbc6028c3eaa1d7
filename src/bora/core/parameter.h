// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// What a parameter is for, whatever its name: a module says it of its own (`role`), and each walk copies it.
enum class Role : std::uint8_t { weight, bias, norm, embedding, head, router, adapter };
std::string_view role_name(Role role);  ///< "weight", "bias", ...

/// One parameter of a model, as its field walk yields it: the one description that optimizers, checkpoints,
/// exports, shards and prints use. Order: the order of declaration, depth first.
struct Parameter {
  std::size_t id = 0;       ///< place in the walk of the whole model: the same on all ranks, in every run
  std::string path = {};    ///< "layers.0.attn.q_proj.weight"
  std::string module = {};  ///< kinds of the modules on the way: "Llama.Block.Attention.Linear"
  std::vector<std::string_view> axes = {};    ///< in the order of the array's dimensions
  std::vector<std::string_view> inputs = {};  ///< of these, the contracted axes of a linear map; else empty
  Role role = Role::weight;
  bool trainable = true;   ///< else it has no gradient, no optimizer state and no decay: see set_trainable
  Array* array = nullptr;  ///< in the model; stays where it is while the model lives
};

/// The trainable ones of a list, in its order.
std::vector<Parameter> trainable_parameters(std::vector<Parameter> parameters);

/// Whether a parameter is trained; a new one is. Copies of a model share it, as they share the array.
bool trainable(const Array& parameter);
void set_trainable(Array& parameter, bool on);

}  // namespace bora::core
