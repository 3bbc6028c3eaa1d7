// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"
#include "bora/core/mapping.h"

namespace bora::core {

/// Combines the rows of a contiguous array [rows, elements] in pairs, ((0 + 1) + (2 + 3)) + ..., in place, each sum
/// rounded to the array's type; the first row, which holds the result. On the device where the array lies.
Array combine_rows(const Array& rows, Collectives::Combine combine);

}  // namespace bora::core
