// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/shuffle.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::data {
namespace {

class Era final : public Permutation {
 public:
  Era(std::int64_t length, std::int64_t size, RandomOrder random, const Key& key)
      : Permutation(size), length_(length), random_(random), key_(key) {}
  std::int64_t map(std::int64_t index) const override {
    const std::int64_t era = index / length_, begin = era * length_;
    const auto inside =
        random_(std::min(length_, size() - begin), key_.fold(static_cast<std::uint64_t>(era)));
    return begin + (*inside)(index - begin);
  }

 private:
  std::int64_t length_;
  RandomOrder random_;
  Key key_;
};

class Block final : public Permutation {
 public:
  Block(const BlockShuffle& shuffle, std::int64_t size, RandomOrder random, const Key& key)
      : Permutation(size),
        block_(shuffle.io_block),
        window_size_(shuffle.io_block * shuffle.window_blocks),
        random_(random),
        window_key_(key.fold("window")),
        in_blocks_(size / block_ * block_) {
    if (in_blocks_ > 0) blocks_ = random(size / block_, key.fold("blocks"));
  }
  std::int64_t map(std::int64_t index) const override {
    if (index >= in_blocks_) return in_blocks_ + within(size() - in_blocks_, index - in_blocks_, -1);
    const std::int64_t window = index / window_size_, begin = window * window_size_;
    const std::int64_t x = begin + within(std::min(window_size_, in_blocks_ - begin), index - begin, window);
    return (*blocks_)(x / block_) * block_ + x % block_;
  }

 private:
  std::int64_t within(std::int64_t size, std::int64_t index, std::int64_t window) const {
    return (*random_(size, window_key_.fold(static_cast<std::uint64_t>(window))))(index);
  }

  std::int64_t block_, window_size_;
  RandomOrder random_;
  Key window_key_;
  std::int64_t in_blocks_;
  PermutationPtr blocks_;
};

RandomOrder random_order(const std::string& name) {
  if (name == "feistel") return feistel_permutation;
  if (name == "linear") return linear_permutation;
  fail(ErrorKind::Config, "shuffle: permutation {} is neither feistel nor linear", name);
}

using Types = Registry<ConfigType<ShuffleType>>;

// A line for each.
Types builtin() {
  Types types("shuffle");
  types.add("none", {"in order; the same as false", NoShuffle()});
  types.add("full", {"over everything; the same as true", FullShuffle()});
  types.add("era", {"within eras, which stay in order; the same as the length of an era", EraShuffle()});
  types.add("block",
            {"blocks of sequences over everything, and sequences within a window of blocks; the type "
             "of a map without one",
             BlockShuffle()});
  return types;
}

constexpr std::string_view kDoc =
    "order of the training sequences: true, false, the length of an era within which to shuffle, or a map";

void bind_map(Binder& b, std::string_view name, Shuffle& shuffle) {
  if (!b.enter(name, kDoc)) return;
  const bool of_block = shuffle.type == "block";
  bool known = true;
  if (b.reading() && !b.present("type")) {
    if (!of_block) shuffle.config = BlockShuffle();
    shuffle.type = "block";
  } else if (b.mode() != Binder::Mode::Write || !of_block) {  // runs are named by what is written
    known = bind_type(b, shuffle.type, shuffle.config, shuffle_types(), "the kind of order");
  }
  if (known) shuffle.config.bind(b);
  b.leave();
}

}  // namespace

Types& shuffle_types() {
  static Types types = builtin();
  return types;
}

void Shuffle::bind_as(Binder& b, std::string_view name) {
  const auto text = b.text(name);
  const bool is_number = text && parse_int(*text);
  auto* era = config.get_if<EraShuffle>();
  if (is_number || (!b.reading() && era != nullptr)) {
    if (era == nullptr) config = EraShuffle();
    type = "era";
    return b.field(name, config.as<EraShuffle>().era_length, at_least(1), kDoc);
  }
  bool on = type == "full";
  if (b.reading() ? b.is_map(name) : type != "none" && !on) return bind_map(b, name, *this);
  b.field(name, on, kDoc);
  if (!b.reading()) return;
  type = on ? "full" : "none";
  config = shuffle_types().find(type)->config;
}

void EraShuffle::bind(Binder& b) { b.field("era_length", era_length, at_least(1), "sequences of an era"); }

void BlockShuffle::bind(Binder& b) {
  b.field("io_block_size", io_block, kSize, "sequences that stay together on disk");
  b.field("window_blocks", window_blocks, kSize, "blocks within which sequences are shuffled");
  b.ignored("perm_type", "block shuffles use permutation_type");
}

PermutationPtr NoShuffle::order(std::int64_t size, RandomOrder, const Key&) const {
  return identity_permutation(size);
}

PermutationPtr FullShuffle::order(std::int64_t size, RandomOrder random, const Key& key) const {
  return random(size, key);
}
std::string FullShuffle::why_all() const {
  return "a full shuffle needs its length; an era shuffle starts at once (data.shuffle: 4096)";
}

PermutationPtr EraShuffle::order(std::int64_t size, RandomOrder random, const Key& key) const {
  if (era_length < 1)
    fail(ErrorKind::Config, "shuffle: an era of {} sequences; it should have at least 1", era_length);
  return std::make_unique<Era>(era_length, size, random, key);
}
std::optional<std::int64_t> EraShuffle::needed(std::int64_t index) const {
  return (index / era_length + 1) * era_length;
}

PermutationPtr BlockShuffle::order(std::int64_t size, RandomOrder random, const Key& key) const {
  if (io_block < 1 || window_blocks < 1) {
    fail(ErrorKind::Config, "shuffle: blocks of {} in windows of {}; both should be at least 1", io_block,
         window_blocks);
  }
  return std::make_unique<Block>(*this, size, random, key);
}
std::string BlockShuffle::why_all() const {
  return "a block shuffle takes its blocks from everywhere; an era shuffle starts at once (data.shuffle: "
         "4096)";
}

PermutationPtr make_permutation(const Shuffle& shuffle, std::int64_t size, const Key& key) {
  return shuffle.config->order(size, random_order(shuffle.permutation), key);
}

}  // namespace bora::data
