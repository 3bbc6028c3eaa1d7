// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// An operation that is not one of Bora's: with a backward pass of its own, and on a mesh.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// What makes up an operation. Both functions are called with what this rank has of each operand, and see it
/// as whole arrays: inside them no mesh is known, and Bora's operations are at hand. They keep no state, and
/// do not change their operands.
struct CustomOpRule {
  std::string name;  ///< for messages

  /// The result, whose axes are those that the caller asks for, in that order.
  std::function<Array(std::span<const Operand> inputs)> forward;
  /// The derivative of a scalar in each input, given that in the result: of the input's sizes and element
  /// type; empty for an input that has none, such as indices. Made of Bora's operations, it can be
  /// differentiated once more (hessian.h).
  std::function<std::vector<Array>(std::span<const Operand> inputs, const Operand& result,
                                   const Operand& gradient)>
      backward;

  // The sharding rule. An axis named in neither list is gathered first: the op gets all of it.

  /// Axes along which ranks may have a shard each: a shard of the result needs the inputs' same shard alone.
  /// The result has them all.
  std::vector<std::string> cut;
  /// Axes that the op adds up over, which the result lacks: results of shards add up to that of the whole.
  std::vector<std::string> summed;
};

/// A registered operation: cheap to copy; recorded calls keep what they need.
///
///   const CustomOp scale_rows({.name = "scale_rows", .forward = ..., .backward = ..., .cut = {"batch"}});
///   Array y = scale_rows({x.operand(), weight.operand()}, x.operand().names);
///
/// An input that lacks a cut axis (a weight beside a batch in shards) gets its gradient summed over the
/// ranks. Under gradient checkpointing, forward runs again. Where sums have fixed lanes (MeshAxis::lanes), a
/// call that would need a sum over them is Unsupported.
class CustomOp {
 public:
  /// InvalidArgument: no name, no forward or no backward, or an axis in both lists.
  explicit CustomOp(CustomOpRule rule);

  /// `out`: the axes of the result; those that no input has are the op's own. Errors: InvalidArgument for a
  /// cut axis that `out` lacks or a summed one that it has, and for results and gradients of other sizes or
  /// element types than they must have.
  Array operator()(std::span<const Operand> inputs, Names out) const;
  Array operator()(std::initializer_list<Operand> inputs, Names out) const {
    return (*this)(std::span<const Operand>(inputs.begin(), inputs.size()), out);
  }

 private:
  std::shared_ptr<const CustomOpRule> rule_;
};

}  // namespace bora::core
