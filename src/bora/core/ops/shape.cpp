// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/shape.h"

#include <ATen/core/IListRef.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/stack_ops.h>

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "bora/base/error.h"
#include "bora/core/autograd/sums.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
namespace {

using at::Tensor;

std::int64_t product(Sizes sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

const Operand& first_of(std::string_view op, std::span<const Operand> xs) {
  if (xs.empty()) fail(ErrorKind::InvalidArgument, "{}: no arrays were given", op);
  return xs[0];
}

// Arrays joined end to end or side by side: the same axes (sizes are Space's business) and elements.
void check_alike(std::string_view op, const Operand& first, const Operand& x) {
  if (x.names.size() != first.names.size() || !within(x.names, first.names)) {
    fail(ErrorKind::InvalidArgument, "{}: the arrays have different axes: {} and {}", op, describe(first),
         describe(x));
  }
  require_same_dtype(op, first, x);
}

// As Space checks one name's sizes, but for `axis`, along which they may differ.
void check_sizes_but(std::string_view op, std::string_view axis, const Operand& first, const Operand& x) {
  for (std::size_t i = 0; i < x.names.size(); ++i) {
    const std::int64_t mine = whole_size(x.array, static_cast<int>(i));
    const std::int64_t other = whole_size(first.array, find(first.names, x.names[i]));
    if (mine == other || x.names[i] == axis) continue;
    fail(ErrorKind::InvalidArgument,
         "{}: axis {} is {} in {} but {} in {}\nhint: only axis {}, along which they are joined, may differ",
         op, x.names[i], other, describe(first), mine, describe(x), axis);
  }
}

void check_range(std::string_view op, const Operand& x, std::string_view axis, std::int64_t start,
                 std::int64_t length) {
  const std::int64_t size = whole_size(x.array, require(op, x, axis));
  if (start >= 0 && length >= 0 && start <= size - length) return;
  fail(ErrorKind::InvalidArgument, "{}: elements {} to {} are not all within axis {} of size {} in {}", op,
       start, start + length, axis, size, describe(x));
}

}  // namespace

Array rearrange(const Operand& x, Names to) try {
  const Space space("rearrange", {x});
  require_same_axes("rearrange", x.names, to);
  if (std::equal(x.names.begin(), x.names.end(), to.begin(), to.end())) return x.array;
  return space.label(aligned(space.local(x), x.names, to), to);
} catch (...) {
  rethrow("rearrange", {x});
}

Array broadcast(const Operand& x, const Shape& to) try {
  const Space space("broadcast", {x});
  check_shape("broadcast", to);
  for (const std::string_view axis : x.names) {
    const int at = find(to.names, axis);
    if (at >= 0 && to.sizes[at] == space.size(axis)) continue;
    if (at >= 0) {
      fail(ErrorKind::InvalidArgument, "broadcast: axis {} is {} in {} but {} in {}", axis, space.size(axis),
           describe(x), to.sizes[at], describe(to));
    }
    fail(ErrorKind::InvalidArgument, "broadcast: axis {} of {} is missing from {}", axis, describe(x),
         describe(to));
  }
  const at::IntArrayRef sizes(to.sizes.data(), to.sizes.size());
  const Tensor t = space.local(x);
  Dims parts = sizes.vec();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (space.has(to.names[i])) parts[i] = space.part(to.names[i]);
  }
  if (t.numel() == 1) return space.label(expand_one(t, parts), to.names);
  return space.label(aligned(t, x.names, to.names).expand(parts), to.names);
} catch (...) {
  rethrow("broadcast", {x});
}

Array flatten(const Operand& x, Names axes, std::string_view into) try {
  const Space space("flatten", {x}, axes);
  dims_of("flatten", x, axes);
  if (axes.empty()) fail(ErrorKind::InvalidArgument, "flatten: no axis of {} was given", describe(x));
  const NameList rest = without(x.names, axes);
  NameList order, names;
  Dims sizes;
  const auto keep = [&](std::string_view axis, std::int64_t size) {
    names.push_back(axis);
    sizes.push_back(size);
  };
  for (const std::string_view axis : x.names) {
    if (axis == axes[0]) {
      order.insert(order.end(), axes.begin(), axes.end());
      std::int64_t size = 1;
      for (const std::string_view part : axes) size *= space.size(part);
      keep(into, size);
    } else if (find(rest, axis) >= 0) {
      if (axis == into) require_new("flatten", x, into);
      order.push_back(axis);
      keep(axis, space.part(axis));
    }
  }
  return space.label(aligned(space.local(x), x.names, order).reshape(sizes), names);
} catch (...) {
  rethrow("flatten", {x});
}

Array unflatten(const Operand& x, std::string_view axis, const Shape& into) try {
  const Space space("unflatten", {x}, {&axis, 1});
  const int dim = require("unflatten", x, axis);
  check_shape("unflatten", into);
  if (product(into.sizes) != space.size(axis)) {
    fail(ErrorKind::InvalidArgument,
         "unflatten: axis {} of {} has size {}, but the sizes of {} multiply to {}", axis, describe(x),
         space.size(axis), describe(into), product(into.sizes));
  }
  const NameList rest = without(x.names, {&axis, 1});
  NameList names(x.names.begin(), x.names.begin() + dim);
  for (std::size_t i = 0; i < into.names.size(); ++i) {
    if (find(rest, into.names[i]) >= 0) require_new("unflatten", x, into.names[i]);
    if (find(into.names.first(i), into.names[i]) >= 0) {
      fail(ErrorKind::InvalidArgument, "unflatten: axis {} appears twice in {}", into.names[i],
           describe(into));
    }
    names.push_back(into.names[i]);
  }
  names.insert(names.end(), x.names.begin() + dim + 1, x.names.end());
  Dims sizes = space.local(x).sizes().vec();
  sizes.insert(sizes.erase(sizes.begin() + dim), into.sizes.begin(), into.sizes.end());
  return space.label(space.local(x).reshape(sizes), names);
} catch (...) {
  rethrow("unflatten", {x});
}

Array concatenate(std::span<const Operand> xs, std::string_view axis) try {
  const Operand& first = first_of("concatenate", xs);
  const Space space("concatenate", {first}, {&axis, 1});
  const int dim = require("concatenate", first, axis);
  std::vector<Tensor> parts;
  for (const Operand& x : xs) {
    const Space own("concatenate", {x}, {&axis, 1});
    check_alike("concatenate", first, x);
    check_sizes_but("concatenate", axis, first, x);
    parts.push_back(aligned(own.local(x), x.names, first.names));
  }
  return space.label(at::_ops::cat::call(at::ITensorListRef(parts), dim), first.names);
} catch (...) {
  rethrow("concatenate", xs);
}

Array stack(std::span<const Operand> xs, std::string_view axis) try {
  const Operand& first = first_of("stack", xs);
  const Space space("stack", xs);
  require_new("stack", first, axis);
  std::vector<Tensor> parts;
  for (const Operand& x : xs) {
    check_alike("stack", first, x);
    parts.push_back(aligned(space.local(x), x.names, first.names));
  }
  NameList names{axis};
  names.insert(names.end(), first.names.begin(), first.names.end());
  return space.label(at::_ops::stack::call(parts, 0), names);
} catch (...) {
  rethrow("stack", xs);
}

std::vector<Array> split(const Operand& x, std::string_view axis, Sizes sizes) try {
  const Space space("split", {x}, {&axis, 1});
  const int dim = require("split", x, axis);
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (total != space.size(axis) ||
      std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 0; })) {
    fail(ErrorKind::InvalidArgument, "split: the sizes [{}] do not add up to the {} of axis {} in {}",
         fmt::join(sizes.begin(), sizes.end(), ", "), space.size(axis), axis, describe(x));
  }
  std::vector<Array> parts;
  for (Tensor& part : space.local(x).split_with_sizes(at::IntArrayRef(sizes.data(), sizes.size()), dim)) {
    parts.push_back(space.label(std::move(part), x.names));
  }
  return parts;
} catch (...) {
  rethrow("split", {x});
}

Array slice(const Operand& x, std::string_view axis, std::int64_t start, std::int64_t length) try {
  const Space space("slice", {x}, {&axis, 1});
  check_range("slice", x, axis, start, length);
  return space.label(space.local(x).narrow(find(x.names, axis), start, length), x.names);
} catch (...) {
  rethrow("slice", {x});
}

Array dynamic_slice(const Operand& x, std::string_view axis, const Array& start, std::int64_t length) try {
  const Operand at{start, {}};
  const Space space("dynamic_slice", {x, at}, {&axis, 1});
  require_indices("dynamic_slice", at);
  const auto first = static_cast<std::int64_t>(start.item());
  check_range("dynamic_slice", x, axis, first, length);
  return space.label(space.local(x).narrow(find(x.names, axis), first, length), x.names);
} catch (...) {
  rethrow("dynamic_slice", {x});
}

}  // namespace bora::core
