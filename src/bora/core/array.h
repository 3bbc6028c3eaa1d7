// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/core/dtype.h"

namespace bora::core {

/// Axis names in the order of an array's dimensions. The static layer passes them with each call; an array
/// itself carries none.
using Names = std::span<const std::string_view>;
using Sizes = std::span<const std::int64_t>;

namespace detail {
/// Reference count of an array's node; the rest of the node is private to core.
struct Counted {
  std::atomic<std::int64_t> references{1};
};
void destroy(Counted* node) noexcept;
}  // namespace detail

struct Node;  // the tensor and its layout label: core/torch/node.h

/// A tensor: one pointer to a small counted node. Copying shares; values never change through ordinary ops
/// (only optimizers and loaders write in place). An empty Array (default-constructed) stands for "none".
class Array {
 public:
  Array() noexcept = default;
  explicit Array(Node* adopted) noexcept;
  Array(const Array& other) noexcept : node_(other.node_) { retain(); }
  Array(Array&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Array& operator=(const Array& other) noexcept {
    Array copy(other);
    std::swap(node_, copy.node_);
    return *this;
  }
  Array& operator=(Array&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Array() { release(); }

  bool empty() const noexcept { return node_ == nullptr; }
  int rank() const;
  std::int64_t size(int dim) const;
  std::vector<std::int64_t> sizes() const;
  std::int64_t numel() const;
  DType dtype() const;

  /// The value of an array with one element, widened. Waits for the device. Refuses a shard or a partial sum.
  double item() const;
  /// Elements in row-major order of the present dimensions, converted to T (float, double, int32, int64, bool
  /// as uint8). Refuses a shard or a partial sum: shard.h reads those.
  template <class T>
  std::vector<T> to_vector() const;

  /// Pointer to the elements of a contiguous host array of dtype T. Writing through it changes every Array
  /// that shares the node. Refuses what to_vector() refuses.
  template <class T>
  T* data() const;

  /// A copy that shares nothing, contiguous.
  Array clone() const;

  Node* node() const noexcept { return node_; }

 private:
  void retain() const noexcept;
  void release() noexcept;
  Node* node_ = nullptr;
};

/// An operand of a dynamic op: the array and the names of its dimensions, in order.
struct Operand {
  const Array& array;
  Names names;
};

/// Names with sizes: the shape of something to be made.
struct Shape {
  Names names;
  Sizes sizes;
};

/// "[batch=2, position=3, embed=512]"
std::string describe(const Operand& x);
std::string describe(const Shape& shape);
std::string describe(Names names);  ///< "[batch, position, embed]"

}  // namespace bora::core
