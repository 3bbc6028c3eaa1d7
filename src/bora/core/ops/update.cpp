// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/update.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/narrow_ops.h>
#include <ATen/ops/new_empty_ops.h>

#include "bora/core/layout/refusal.h"
#include "bora/core/torch/node.h"

namespace bora::core {

Array widened_along(const Array& x, int dim, std::int64_t size) try {
  auto sizes = tensor(x).sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = size;
  return wrap(tensor(x).new_empty(sizes));
} catch (...) {
  rethrow("widened_along", {Operand{x, {}}});
}

void write_slice(Array& into, int dim, std::int64_t start, const Array& from) try {
  tensor(into).narrow(dim, start, from.size(dim)).copy_(tensor(from));
} catch (...) {
  rethrow("write_slice", {Operand{into, {}}, Operand{from, {}}});
}

Array read_slice(const Array& x, int dim, std::int64_t start, std::int64_t length) try {
  return wrap(tensor(x).narrow(dim, start, length));
} catch (...) {
  rethrow("read_slice", {Operand{x, {}}});
}

}  // namespace bora::core
