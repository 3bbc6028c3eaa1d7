// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the one place where operands are converted and results labelled.
#pragma once
#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <string_view>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/torch/node.h"

namespace bora::core {

/// The union of an op's operands' axes, each with its one size. Every op makes one first: it checks sizes
/// ("dot: axis embed is 512 in [...] but 768 in [...]"), decides how each operand must be stored, and labels
/// the result. With one worker nothing needs converting; the mesh's rule table comes in here and nowhere
/// else.
class Space {
 public:
  Space(std::string_view op, std::initializer_list<Operand> operands);
  Space(std::string_view op, std::span<const Operand> operands);

  std::string_view op() const { return op_; }
  bool has(std::string_view axis) const { return index(axis) >= 0; }
  std::int64_t size(std::string_view axis) const;  ///< error if absent
  Names names() const { return names_; }

  /// The tensor of an operand, stored as this op needs it.
  const at::Tensor& local(const Operand& x) const { return tensor(x.array); }
  /// The result, labelled by where this space puts its axes.
  Array label(at::Tensor t, Names names) const;

 private:
  int index(std::string_view axis) const;
  void add(const Operand& x);
  std::string_view op_;
  std::vector<std::string_view> names_;
  std::vector<std::int64_t> sizes_;
  std::vector<const Operand*> first_;  // where a size was first seen, for messages
};

/// Position of `axis` among names, or -1.
int find(Names names, std::string_view axis);
/// The same, with an error that lists the names and the nearest one.
int require(std::string_view op, const Operand& x, std::string_view axis);

/// x's dimensions in the order of `to`, with size-1 dimensions for the axes of `to` that x lacks: ready to
/// broadcast.
at::Tensor aligned(const at::Tensor& x, Names from, Names to);

}  // namespace bora::core
