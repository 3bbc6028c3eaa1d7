// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what an Array points at.
#pragma once
#include <ATen/core/Tensor.h>

#include <utility>

#include "bora/core/array.h"

namespace bora::core {

/// Where an array is stored along each mesh axis: replicated, sharded on one of its dimensions, or a partial
/// sum. One worker has no mesh axes, so the label is empty; layout.h is the only code that reads or writes
/// it.
struct Layout {};

struct Node : detail::Counted {
  explicit Node(at::Tensor t, Layout l = {}) : tensor(std::move(t)), layout(l) {}
  at::Tensor tensor;
  Layout layout;
};

inline Array wrap(at::Tensor t) { return Array(new Node(std::move(t))); }
inline const at::Tensor& tensor(const Array& a) { return a.node()->tensor; }

at::ScalarType scalar_type(DType dtype);
DType from_scalar_type(at::ScalarType type);

}  // namespace bora::core
