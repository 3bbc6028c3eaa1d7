// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Comparison with a plain result, for the programs of this folder.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// Ends the program with status 1 unless both lists are equal within 1e-5.
inline void expect_equal(const std::vector<float>& found, const std::vector<float>& expected,
                         const char* what) {
  bool same = found.size() == expected.size();
  for (std::size_t i = 0; same && i < found.size(); ++i) same = std::abs(found[i] - expected[i]) <= 1e-5F;
  std::printf("%s: %s\n", what, same ? "equal" : "DIFFERENT");
  if (!same) std::exit(1);
}
