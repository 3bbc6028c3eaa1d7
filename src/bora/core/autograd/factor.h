// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: a parameter of an operation, and the copy that it computes with.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>

namespace bora::core::autograd {

struct WholeLargest;  // fp8_matmul.h

/// A factor of a product, or its bias. `parameter`, seen as `values` are: the fp32 one of which they are a copy in
/// fewer bytes, to which the gradient goes in fp32; undefined: there is none.
struct Factor {
  at::Tensor values, parameter = {};
  bool maps = false;                               ///< of a linear map, which fp8 is for (core/fp8.h)
  std::shared_ptr<const WholeLargest> whole = {};  ///< where what is mapped, or the map, is a shard
};

/// `values` and their parameter, if there is one, each as `seen` shows it.
template <class Seen>
Factor factor_of(const at::Tensor& values, const at::Tensor& parameter, const Seen& seen) {
  return {seen(values), parameter.defined() ? seen(parameter) : at::Tensor()};
}

/// What gradients are of.
inline const at::Tensor& differentiated(const Factor& x) {
  return x.parameter.defined() ? x.parameter : x.values;
}

}  // namespace bora::core::autograd
