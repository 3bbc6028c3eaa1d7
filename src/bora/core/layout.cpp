// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/torch/layout.h"

#include <algorithm>
#include <cassert>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::core {
namespace {

void check_operand(std::string_view op, const Operand& x) {
  if (x.array.empty()) {
    fail(ErrorKind::InvalidArgument, "{}: the operand {} is empty (it was never given a value)", op,
         describe(x.names));
  }
  const std::int64_t rank = tensor(x.array).dim();
  if (rank != static_cast<std::int64_t>(x.names.size())) {
    fail(ErrorKind::InvalidArgument, "{}: {} axes are named for an array of {} dimensions: {}", op,
         x.names.size(), rank, describe(x));
  }
  for (std::size_t i = 1; i < x.names.size(); ++i) {
    if (find(x.names.first(i), x.names[i]) >= 0) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} appears twice in {}\nhint: rename one of them", op,
           x.names[i], describe(x));
    }
  }
}

bool same(Names a, Names b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

int find(Names names, std::string_view axis) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == axis) return static_cast<int>(i);
  }
  return -1;
}

int require(std::string_view op, const Operand& x, std::string_view axis) {
  const int at = find(x.names, axis);
  if (at >= 0) return at;
  const auto likely = nearest(axis, std::vector<std::string>(x.names.begin(), x.names.end()));
  fail(ErrorKind::InvalidArgument, "{}: no axis {} in {}{}", op, axis, describe(x),
       likely ? "; did you mean " + *likely + "?" : "");
}

Space::Space(std::string_view op, std::initializer_list<Operand> operands)
    : Space(op, std::span<const Operand>(operands.begin(), operands.size())) {}

Space::Space(std::string_view op, std::span<const Operand> operands) : op_(op) {
  for (const Operand& x : operands) add(x);
  first_.clear();  // the operands themselves need not outlive this call
}

void Space::add(const Operand& x) {
  check_operand(op_, x);
  const at::IntArrayRef sizes = tensor(x.array).sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int known = index(x.names[i]);
    if (known < 0) {
      names_.push_back(x.names[i]);
      sizes_.push_back(sizes[i]);
      first_.push_back(&x);
    } else if (sizes_[known] != sizes[i]) {
      const bool one = sizes_[known] == 1 || sizes[i] == 1;
      fail(ErrorKind::InvalidArgument, "{}: axis {} is {} in {} but {} in {}\nhint: {}", op_, x.names[i],
           sizes_[known], describe(*first_[known]), sizes[i], describe(x),
           one ? "size 1 is not stretched; drop the axis and it is repeated by name"
               : "one name has one size; rename one of the two axes if they are different things");
    }
  }
}

std::int64_t Space::size(std::string_view axis) const {
  const int at = index(axis);
  if (at >= 0) return sizes_[at];
  const auto likely = nearest(axis, std::vector<std::string>(names_.begin(), names_.end()));
  fail(ErrorKind::InvalidArgument, "{}: no axis {} in {}{}", op_, axis, describe(Shape{names_, sizes_}),
       likely ? "; did you mean " + *likely + "?" : "");
}

Array Space::label(at::Tensor t, [[maybe_unused]] Names names) const {
  assert(t.dim() == static_cast<std::int64_t>(names.size()));
  return wrap(std::move(t));
}

int Space::index(std::string_view axis) const { return find(names_, axis); }

at::Tensor aligned(const at::Tensor& x, Names from, Names to) {
  if (same(from, to)) return x;
  std::vector<std::int64_t> order, sizes;
  order.reserve(from.size());
  sizes.reserve(to.size());
  for (const std::string_view axis : to) {
    const int at = find(from, axis);
    if (at >= 0) order.push_back(at);
    sizes.push_back(at < 0 ? 1 : x.size(at));
  }
  const bool moved = !std::is_sorted(order.begin(), order.end());
  const at::Tensor permuted = moved ? x.permute(order) : x;
  return order.size() == to.size() ? permuted : permuted.view(sizes);
}

}  // namespace bora::core
