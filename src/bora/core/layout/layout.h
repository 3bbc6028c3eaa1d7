// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the one place where operands are converted and results labelled.
#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/torch/stored.h"

namespace bora::core {

/// The union of an op's operands' axes, each with its one size. Every op makes one first: it checks sizes
/// ("dot: axis embed is 512 in [...] but 768 in [...]"), decides how each operand must be stored, and labels
/// the result. Sizes are those of whole arrays; `part` is what this worker computes of an axis. The mesh's
/// rule table comes in here and nowhere else.
class Space {
 public:
  /// `whole`: axes along which the op cannot work on shards.
  Space(std::string_view op, std::initializer_list<Operand> operands, Names whole = {});
  Space(std::string_view op, std::span<const Operand> operands, Names whole = {});

  std::string_view op() const { return op_; }
  bool has(std::string_view axis) const { return index(axis) >= 0; }
  std::int64_t size(std::string_view axis) const;  ///< error if absent
  Names names() const { return names_; }

  /// This worker's part of an axis: where it begins, and its size.
  std::int64_t first(std::string_view axis) const;
  std::int64_t part(std::string_view axis) const;
  /// The workers that share an axis, or null.
  Collectives* workers(std::string_view axis) const;

  /// The tensor of an operand, stored as this op needs it.
  at::Tensor local(const Operand& x) const {
    if (x.array.node()->stored) refuse_stored(op_, x);
    return mapping_ == nullptr ? tensor(x.array) : converted(x, 1).front();
  }

  /// The op works lane by lane (MeshAxis::lanes) and adds up their sums in pairs. Where the lanes are fixed,
  /// an op that does not is refused whatever would be a sum over them, forward or backward.
  void by_lanes() { by_lanes_ = true; }
  /// The axis of which this worker has several lanes; empty without one.
  std::string_view laned() const;
  int lanes() const;  ///< of it; 1 without
  /// What one lane computes of an axis.
  std::int64_t lane_part(std::string_view axis) const { return part(axis) / (axis == laned() ? lanes() : 1); }
  /// local(x) for each lane: its shard where x has the axis, else all of it.
  std::vector<at::Tensor> local_lanes(const Operand& x) const;

  /// The fp32 parameter of which x is a copy in fewer bytes, if `used`, what local() gave, is all of the copy; else
  /// undefined. Its gradient is then computed in fp32. (Those of several lanes are added in the type of the copies, and
  /// those of one lane alone must be the same.)
  at::Tensor parameter_of(const Operand& x, const at::Tensor& used) const;

  /// The result, labelled by where this space puts its axes: in shards along those that `names` has, a
  /// partial sum where the axis is gone.
  Array label(at::Tensor t, Names names) const;
  /// The same where the op itself has summed over the workers of the axes `summed`.
  Array label(at::Tensor t, Names names, Names summed) const;

 private:
  static constexpr std::int8_t kNobody = -1;
  int index(std::string_view axis) const;
  void add(const Operand& x);
  void check_device(const Operand& x);
  void assign_mesh_axes(Names whole);
  std::vector<at::Tensor> converted(const Operand& x, int copies) const;
  void refuse_sum(std::string_view axis, std::size_t m) const;
  [[noreturn]] void refuse_foreign(const Operand& x, std::size_t m) const;
  std::string_view op_;
  const Operand* placed_ = nullptr;  // the first operand: all are on its device
  std::vector<std::string_view> names_;
  std::vector<std::int64_t> sizes_;
  std::vector<const Operand*> first_;  // where a size was first seen, for messages
  const Mapping* mapping_ = nullptr;
  std::array<std::int8_t, Mapping::kMeshAxes> owner_;  // by mesh axis: index in names_
  bool by_lanes_ = false;
};

/// Position of `axis` among names, or -1.
int find(Names names, std::string_view axis);
/// The same, with an error that lists the names and the nearest one.
int require(std::string_view op, const Operand& x, std::string_view axis);

/// Makes `t` lie as `like`, and be the same parameter if that is one.
Array labelled_as(const Array& like, at::Tensor t);

/// x's dimensions in the order of `to`, with size-1 dimensions for the axes of `to` that x lacks: ready to
/// broadcast.
at::Tensor aligned(const at::Tensor& x, Names from, Names to);

}  // namespace bora::core
