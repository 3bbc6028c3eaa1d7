// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/update.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/narrow_ops.h>
#include <ATen/ops/new_empty_ops.h>

#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

// The same memory apart from what is recorded: values that were saved for a backward pass go and come back as
// the same ones, which libtorch would take for a change.
at::Tensor writable(const Array& x) {
  autograd::has_changed(tensor(x), false);
  return tensor(x).variable_data();
}

}  // namespace

Array widened_along(const Array& x, int dim, std::int64_t size) try {
  auto sizes = tensor(x).sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = size;
  return wrap(tensor(x).new_empty(sizes));
} catch (...) {
  rethrow("widened_along", {Operand{x, {}}});
}

void write_slice(Array& into, int dim, std::int64_t start, const Array& from) try {
  writable(into).narrow(dim, start, from.size(dim)).copy_(tensor(from).detach());
} catch (...) {
  rethrow("write_slice", {Operand{into, {}}, Operand{from, {}}});
}

Array read_slice(const Array& x, int dim, std::int64_t start, std::int64_t length) try {
  return wrap(tensor(x).narrow(dim, start, length));
} catch (...) {
  rethrow("read_slice", {Operand{x, {}}});
}

void copy_into(Array& into, const Array& from) try {
  if (into.sizes() != from.sizes()) {
    fail(ErrorKind::InvalidArgument, "copy_into: an array of sizes [{}] takes none of [{}]",
         fmt::join(into.sizes(), ", "), fmt::join(from.sizes(), ", "));
  }
  writable(into).copy_(tensor(from).detach());
} catch (...) {
  rethrow("copy_into", {Operand{into, {}}, Operand{from, {}}});
}

Array elements(const Array& x, std::int64_t first, Sizes sizes) try {
  const auto count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  return wrap(tensor(x)
                  .detach()
                  .view({-1})
                  .narrow(0, first, count)
                  .view(at::IntArrayRef(sizes.data(), sizes.size())));
} catch (...) {
  rethrow("elements", {Operand{x, {}}});
}

bool share_memory(const Array& a, const Array& b) {
  const at::Tensor &x = tensor(a), &y = tensor(b);
  return x.is_alias_of(y) && x.storage_offset() == y.storage_offset();
}

}  // namespace bora::core
