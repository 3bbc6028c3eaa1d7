// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <initializer_list>
#include <vector>

namespace bora {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

/// Code points, as sorted ranges that neither touch nor overlap.
class CodePointSet {
 public:
  struct Range {
    char32_t first, last;
    bool operator==(const Range&) const = default;
  };

  CodePointSet() = default;
  CodePointSet(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges) add(range.first, range.last);
  }

  /// Adds [first, last].
  void add(char32_t first, char32_t last);
  void add(char32_t c) { add(c, c); }
  void add(const CodePointSet& other);

  bool contains(char32_t c) const;
  bool empty() const { return ranges_.empty(); }
  /// The code points that this set does not have.
  CodePointSet complement() const;
  CodePointSet intersection(const CodePointSet& other) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool operator==(const CodePointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace bora
