// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The linear maps of a model by path, for adapters.
#pragma once
#include <optional>
#include <string>

#include "bora/nn/lora_shape.h"

namespace bora::nn {

/// A linear map of a model.
struct LinearMap {
  std::string path;   ///< "layers.0.attn.q_proj"
  bool head = false;  ///< its weight is the model's head
  std::optional<LoraShape> adapter = {};
};

/// An adapter to come, on the linear map at a path.
struct NewAdapter {
  std::string path;
  LoraShape shape;
};

}  // namespace bora::nn
