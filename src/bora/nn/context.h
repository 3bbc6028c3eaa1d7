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

class CachePass;

/// Passed by reference to every layer. Cheap to copy.
struct Context {
  AttentionMask mask;
  core::Array present = {};  ///< f32 [batch, position] or empty: 1 where a token is, 0 where padding is
  std::optional<Key> key;    ///< dropout is active only where there is a key
  std::int64_t layer = 0;
  core::DType compute = core::DType::f32;  ///< of the pass; blocks cast their parameters to it
  CachePass* cache = nullptr;  ///< an output: where new keys and values go, and earlier ones come from
  /// Called with 0 and the embeddings, with i and the output of layer i (counted from 1), and last with the
  /// number of layers and the normalised output.
  const std::function<void(std::int64_t, const core::Array&)>* probe = nullptr;

  Context at_layer(std::int64_t i) const;
  /// The key of one use of randomness, if there is one.
  std::optional<Key> fold(std::string_view site) const;
  void observe(std::int64_t index, const core::Array& hidden) const {
    if (probe != nullptr) (*probe)(index, hidden);
  }
};

}  // namespace bora::nn
