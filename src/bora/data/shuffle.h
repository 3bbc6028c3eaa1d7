// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Orders of the sequences of a data set: the types that `data.shuffle` may name.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/typed_config.h"
#include "bora/data/permutation.h"

namespace bora::data {

/// Draws a random order of so many: feistel_permutation or linear_permutation, as data.permutation_type says.
using RandomOrder = PermutationPtr (*)(std::int64_t size, const Key& key);

/// What the configuration of a type of shuffles derives from. It binds its keys, `void bind(Binder&)`.
class ShuffleType {
 public:
  virtual ~ShuffleType() = default;
  /// From places to sequences: a function of its arguments and of the keys alone.
  virtual PermutationPtr order(std::int64_t size, RandomOrder random, const Key& key) const = 0;
  /// How many of the first sequences must be there before the one at place `index` is known, however many
  /// come after them; nothing: all. So training may begin while tokens are still being made.
  virtual std::optional<std::int64_t> needed(std::int64_t /*index*/) const { return std::nullopt; }
  /// Why all, for who waits.
  virtual std::string why_all() const { return "this shuffle needs all of it"; }
};

/// In order.
struct NoShuffle : ShuffleType {
  void bind(Binder&) {}
  PermutationPtr order(std::int64_t size, RandomOrder random, const Key& key) const override;
  std::optional<std::int64_t> needed(std::int64_t index) const override { return index + 1; }
};

/// Over everything.
struct FullShuffle : ShuffleType {
  void bind(Binder&) {}
  PermutationPtr order(std::int64_t size, RandomOrder random, const Key& key) const override;
  std::string why_all() const override;
};

/// Within eras of so many sequences, which stay in order.
struct EraShuffle : ShuffleType {
  std::int64_t era_length;

  explicit EraShuffle(std::int64_t length = 4096) : era_length(length) {}
  void bind(Binder& b);
  PermutationPtr order(std::int64_t size, RandomOrder random, const Key& key) const override;
  std::optional<std::int64_t> needed(std::int64_t index) const override;
};

/// Whole blocks of `io_block` sequences over everything, then sequences within windows of `window_blocks`
/// blocks; the last, incomplete block stays last: random enough, and kind to slow disks.
struct BlockShuffle : ShuffleType {
  std::int64_t io_block, window_blocks;

  explicit BlockShuffle(std::int64_t block = 256, std::int64_t window = 512)
      : io_block(block), window_blocks(window) {}
  void bind(Binder& b);
  PermutationPtr order(std::int64_t size, RandomOrder random, const Key& key) const override;
  std::string why_all() const override;
};

/// All types that this program has, Bora's own first. A type of yours is one line before the configuration
/// is read, and `shuffle: {type: mine}` names it:
///
///     data::shuffle_types().add("mine", {"in a few words", MyShuffle()});
Registry<ConfigType<ShuffleType>>& shuffle_types();

struct Shuffle {
  std::string type = "none";
  AnyConfig<ShuffleType> config = NoShuffle();
  std::string permutation = "feistel";  ///< or "linear"
  bool reshuffle_each_epoch = true;

  /// `type` as Levanter spells it: false (none), true (full), a number (era) or a map without `type` (block);
  /// others are maps with their `type`.
  void bind_as(Binder& b, std::string_view name);
};

/// Config error for another permutation, and for sizes below 1.
PermutationPtr make_permutation(const Shuffle& shuffle, std::int64_t size, const Key& key);

}  // namespace bora::data
