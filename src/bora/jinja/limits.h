// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>

namespace bora::jinja {

/// Bounds on what a template may do; passing one is an error, never a slow or an enormous answer.
struct Limits {
  std::size_t template_bytes = 1 << 20;
  std::size_t steps = 3'000'000;         ///< operations, with long texts counted by their length
  std::size_t output_bytes = 64u << 20;  ///< of the result and of every text on the way to it
  int depth = 1000;                      ///< nested expressions, statements and macro calls, in all
  int nesting = 100;                     ///< lists in lists
};

}  // namespace bora::jinja
