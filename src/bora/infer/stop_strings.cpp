// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/stop_strings.h"

#include <algorithm>
#include <utility>

namespace bora::infer {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  std::erase_if(strings_, [](const auto& s) { return s.empty(); });
}

// Cuts the longest stop string off the end of what is held.
void StopStrings::look_at_end() {
  std::size_t longest = 0;
  for (const auto& s : strings_)
    if (held_.ends_with(s)) longest = std::max(longest, s.size());
  held_.resize(held_.size() - longest);
  found_ = longest > 0;
}

// Where the longest end of what is held begins that is also the beginning of a stop string.
std::size_t StopStrings::possible_beginning() const {
  std::size_t longest = 0;
  for (const auto& s : strings_) {
    for (auto n = std::min(s.size() - 1, held_.size()); n > longest; --n)
      if (held_.ends_with(std::string_view(s).substr(0, n))) longest = n;
  }
  return held_.size() - longest;
}

std::string StopStrings::push(std::string_view text) {
  for (std::size_t i = 0; i < text.size() && !found_; ++i) {
    held_ += text[i];
    look_at_end();
  }
  const auto end = found_ ? held_.size() : possible_beginning();
  std::string out = held_.substr(0, end);
  held_.erase(0, end);
  return out;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace bora::infer
