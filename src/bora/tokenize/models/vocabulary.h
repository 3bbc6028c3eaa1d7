// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json_view.h"

namespace bora::tokenize {

/// A map from short texts to ids, both ways, in two arrays. Ids need not be dense.
class Vocabulary {
 public:
  /// Ids from here on are refused: a table of them would not fit.
  static constexpr std::int64_t kMaxIds = std::int64_t{1} << 24;

  /// False if the text or the id is taken already. 0 <= id < kMaxIds.
  bool add(std::string_view text, std::int32_t id);

  /// The same for an id that is free; a text that is there already stands for the new id from now on.
  void put(std::string_view text, std::int32_t id);

  /// Makes room.
  void reserve(std::size_t tokens);

  std::optional<std::int32_t> find(std::string_view text) const;
  bool has(std::int32_t id) const;
  /// The text of an id that is there; lives until the next add().
  std::string_view text(std::int32_t id) const;

  std::int64_t count() const { return count_; }                                   ///< tokens
  std::int64_t size() const { return static_cast<std::int64_t>(spans_.size()); }  ///< largest id + 1

  /// An object of text: id. Errors: Corruption for an id that is not in [0, kMaxIds), or given twice, or a
  /// text given twice.
  static Vocabulary read(const JsonView& json);
  void write(std::string& out) const;

 private:
  struct Span {
    std::uint32_t begin = 0;
    std::int32_t size = -1;  // -1: no token
  };
  std::size_t slot(std::string_view text) const;
  void grow(std::size_t slots);
  void put_at(std::size_t slot, std::string_view text, std::int32_t id);

  std::string texts_;
  std::vector<Span> spans_;
  std::vector<std::int32_t> slots_;  // open addressing; -1 is free
  std::int64_t count_ = 0;
};

}  // namespace bora::tokenize
