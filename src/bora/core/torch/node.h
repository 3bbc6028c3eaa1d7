// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what an Array points at.
#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/mapping.h"
#include "bora/core/rope.h"

namespace bora::core {

/// How the operations of a pass used a parameter, by mesh axis (bits): beside an axis that the parameter
/// lacks, or without any.
struct ParameterUse {
  unsigned pending = 0, alone = 0;
};

/// Where an array is stored along each mesh axis: replicated, a partial sum, or in shards along a dimension.
/// One worker has no mesh axes: everything is replicated. layout.cpp is the only code that reads or writes
/// it.
struct Layout {
  static constexpr std::int8_t kReplicated = -1, kPartial = -2;
  std::array<std::int8_t, Mapping::kMeshAxes> place;
  Layout() { place.fill(kReplicated); }
  bool operator==(const Layout&) const = default;
};

/// What an operand became for an operation; all operations that need the same share it.
struct Conversion {
  Layout layout;
  unsigned lifted;  // mesh axes whose backward pass sums
  bool recorded;
  std::vector<at::Tensor> tensors;  // the same one for each lane of operations that work by lanes
};

/// Whether this thread is in the first run of a checkpointed body (autograd/checkpoint.cpp): arrays are
/// computed there, and no operation is recorded, so that gradients never reach what is made.
extern constinit thread_local bool in_unrecorded_run;

struct StoredWeight;  // torch/stored.h

/// A sum that nobody has asked for yet, so that a norm of it can compute both with one kernel of the device.
struct PendingSum {
  Array left, right;  // of the same axes and sizes
  bool recorded;
};

/// Where segments begin that are all of one piece: i32 [documents + 1] of all positions behind one another, on the
/// device; undefined where each row is one.
struct Documents {
  at::Tensor starts = {};
  std::int64_t longest = 0;
};

/// A rotary embedding that nobody has asked for yet, so that attention has queries and keys turned by one kernel.
struct PendingTurn {
  at::Tensor like;  // of the sizes and type of the result
  at::Tensor x;     // [batch, position, heads, dim]
  at::Tensor cos, sin;
  RopePairs pairs;
  bool recorded;
};

struct Node : detail::Counted {
  explicit Node(at::Tensor t, Layout l = {})
      : tensor(std::move(t)), layout(l), unrecorded(in_unrecorded_run) {}
  at::Tensor tensor;
  Layout layout;
  bool unrecorded;                    ///< made there: of no use for what is recorded
  std::shared_ptr<ParameterUse> use;  // of parameters
  std::vector<Conversion> conversions;
  bool frozen = false;                         // a parameter that is not trained
  Array wide;                                  // of a parameter's copy in fewer bits, the parameter
  std::shared_ptr<const StoredWeight> stored;  // where it is, the tensor has sizes and no values
  std::unique_ptr<PendingSum> pending;         // where it is, there is no tensor
  std::unique_ptr<PendingTurn> turn;           // the same
  std::shared_ptr<const Documents> documents;  // of segments on a device, where they are of one piece
};

inline Array wrap(at::Tensor t) { return Array(new Node(std::move(t))); }
void settle(Node& node);  ///< computes what is pending
inline const at::Tensor& tensor(const Array& a) {
  if (a.node()->pending || a.node()->turn) settle(*a.node());
  return a.node()->tensor;
}
/// One of the sizes, type and device of a, which may be pending.
inline const at::Tensor& alike(const Array& a) {
  const Node* node = a.node();
  while (node->pending) node = node->pending->left.node();
  return node->turn ? node->turn->like : node->tensor;
}

at::ScalarType scalar_type(DType dtype);
DType from_scalar_type(at::ScalarType type);

}  // namespace bora::core
