// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bora::infer {

/// Ends a text that arrives in parts before the first of some strings in it. What is given out never holds
/// part of one, and does not depend on where the parts begin and end: the stop string that is complete first
/// counts; of several that end at the same place, the longest.
class StopStrings {
 public:
  /// Empty strings never occur. None: everything is given out at once.
  explicit StopStrings(std::vector<std::string> strings);

  /// The text that is now certain to come before any stop string. Empty once one was found.
  std::string push(std::string_view text);
  bool found() const { return found_; }
  /// The text ends here: what was held back.
  std::string finish();

 private:
  void look_at_end();
  std::size_t possible_beginning() const;

  std::vector<std::string> strings_;
  std::string held_;
  bool found_ = false;
};

}  // namespace bora::infer
