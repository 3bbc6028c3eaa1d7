// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a forward pass carries through the layers beside the hidden state.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bora/base/key.h"
#include "bora/core/array.h"

namespace bora::nn {

/// Which keys a query may see, as a rule, never as a matrix [position, key_position].
struct AttentionMask {
  bool causal = true;
  std::int64_t window = 0;  ///< > 0: the last `window` positions, the query's own included
  core::Array segments;     ///< i32 [batch, position] or empty: positions see only their own segment

  static AttentionMask causal_mask() { return {}; }
  static AttentionMask none() { return {.causal = false, .window = 0, .segments = {}}; }
  AttentionMask with_window(std::int64_t w) const;
  AttentionMask with_segments(core::Array s) const;
};

/// Keys and values of the positions decoded so far, one pair for each layer. Made for a batch and a longest
/// length.
class KvCache {
 public:
  KvCache(std::int64_t layers, std::int64_t capacity)
      : entries_(static_cast<std::size_t>(layers)), capacity_(capacity) {}

  /// Positions held; the next forward pass starts here.
  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return capacity_; }
  /// Forgets all positions from `length` on.
  void truncate(std::int64_t length) { length_ = length; }

  /// Appends this pass's keys and values of a layer and returns all so far. Dimension `dim` is the position.
  std::pair<core::Array, core::Array> append(std::int64_t layer, const core::Array& keys,
                                             const core::Array& values, int dim);
  /// Called once after a pass over `positions` new positions.
  void advance(std::int64_t positions) { length_ += positions; }

 private:
  struct Entry {
    core::Array keys, values;
  };
  std::vector<Entry> entries_;
  std::int64_t capacity_;
  std::int64_t length_ = 0;
};

/// Passed by reference to every layer. Cheap to copy.
struct Context {
  AttentionMask mask;
  std::optional<Key> key;  ///< dropout is active only where there is a key
  std::int64_t layer = 0;
  core::DType compute = core::DType::f32;  ///< of the pass; blocks cast their parameters to it
  KvCache* cache = nullptr;                ///< decoding: keys and values of earlier positions
  /// Called with 0 and the embeddings, with i and the output of layer i (counted from 1), and last with the
  /// number of layers and the normalised output.
  const std::function<void(std::int64_t, const core::Array&)>* probe = nullptr;

  std::int64_t first_position() const { return cache == nullptr ? 0 : cache->length(); }
  Context at_layer(std::int64_t i) const;
  /// The key of one use of randomness, if there is one.
  std::optional<Key> fold(std::string_view site) const;
  void observe(std::int64_t index, const core::Array& hidden) const {
    if (probe != nullptr) (*probe)(index, hidden);
  }
};

}  // namespace bora::nn
