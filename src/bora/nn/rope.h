// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "bora/core/rope.h"
#include "bora/named/ops.h"
#include "bora/nn/context.h"
#include "bora/nn/rope_config.h"

namespace bora::nn {

class RecentAngles;

/// Dynamic scaling: a sequence of more than `original` positions is turned by a base of its own length.
struct DynamicRope {
  double theta, factor;
  std::int64_t head_dim, original;
  std::shared_ptr<RecentAngles> recent = {};  ///< of all layers: those of a pass are made once
};

/// Precomputed angles: cos and sin [position, half].
struct RopeTable {
  static constexpr bool is_buffer = true;  // none of it is trained
  core::Array cos, sin;                    ///< dynamic: of sequences up to the original context
  core::Array long_cos, long_sin;          ///< longrope: those of sequences of more than short_positions
  std::int64_t short_positions = 0;        ///< longrope; 0: the angles are the same for all lengths
  std::optional<DynamicRope> dynamic = {};
  core::RopePairs pairs = core::RopePairs::halves;

  /// For the first head_dim dimensions of a head and sequences of up to `positions`. Config errors where they
  /// do not fit the configuration.
  static RopeTable make(const RopeConfig& config, std::int64_t head_dim, std::int64_t positions);
  bool is_long(std::int64_t length) const { return short_positions > 0 && length > short_positions; }
  /// dynamic: whether a sequence of this length has a base of its own.
  bool has_own_base(std::int64_t length) const { return dynamic && length > dynamic->original; }
  /// cos and sin of `n` positions from `first` on, in a sequence of `length`.
  std::pair<core::Array, core::Array> angles(std::int64_t first, std::int64_t n, std::int64_t length) const;
};

namespace detail {
core::Array rope_on(const core::Operand& x, std::string_view position, std::string_view dim,
                    const RopeTable& table);
core::Array rope_on(const core::Operand& x, std::string_view position, std::string_view dim,
                    const RopeTable& table, const CachePass& pass);
}  // namespace detail

/// Rotates x along HeadDim by the angles of its positions along Pos. With a cache, row by row of the first
/// axis: each from the position where it stands, and in dynamic scaling by the length that it has then, as in Hugging
/// Face; cached keys keep their angles. InvalidArgument for a row that grows beyond what its cached keys have the
/// angles for (longrope).
template <Axis Pos, Axis HeadDim, NamedTensor X>
  requires HasAxes<X, Pos, HeadDim>
X rope(const X& x, const RopeTable& table, const Context& context) {
  if (context.cache == nullptr)
    return X::adopt(detail::rope_on(x.operand(), Pos::name, HeadDim::name, table));
  return X::adopt(detail::rope_on(x.operand(), Pos::name, HeadDim::name, table, *context.cache));
}

#if defined(__clang__)  // as in named/refusals_for_clang.h
template <Axis Pos, Axis HeadDim, AnyTensor X>
__attribute__((unavailable("rope<Pos, HeadDim>(x, table, context): x must have both axes"))) X
rope(const X& x, const RopeTable& table, const Context& context);
#endif

}  // namespace bora::nn
