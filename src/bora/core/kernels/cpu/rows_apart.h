// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// From now on this thread's matmul() computes the rows of `a` in so many equal groups, where they divide m:
/// each group has the bits of a product of its own with one group. What is read of b serves all. Groups of
/// few rows have a kernel of their own. Returns the number before; 0, the first: no groups, the kernels of
/// training.
std::int64_t set_rows_apart(std::int64_t groups);

/// Whether a product with m rows has groups of few: no groups are one.
bool are_few_rows(std::int64_t m);

}  // namespace bora::kernels
