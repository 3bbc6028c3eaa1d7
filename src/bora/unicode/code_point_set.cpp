// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/code_point_set.h"

#include <algorithm>

namespace bora {

void CodePointSet::add(char32_t first, char32_t last) {
  // The ranges that the new one touches become one with it.
  const auto begin = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                      [](const Range& r, char32_t c) { return r.last + 1 < c; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  const auto at = ranges_.erase(begin, end);
  ranges_.insert(at, {first, last});
}

void CodePointSet::add(const CodePointSet& other) {
  for (const Range& range : other.ranges_) add(range.first, range.last);
}

bool CodePointSet::contains(char32_t c) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), c,
                                   [](const Range& r, char32_t value) { return r.last < value; });
  return at != ranges_.end() && at->first <= c;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.ranges_.push_back({next, kLastCodePoint});
  return out;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet out;
  for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
    const char32_t first = std::max(a->first, b->first), last = std::min(a->last, b->last);
    if (first <= last) out.ranges_.push_back({first, last});
    if (a->last < b->last)
      ++a;
    else
      ++b;
  }
  return out;
}

}  // namespace bora
