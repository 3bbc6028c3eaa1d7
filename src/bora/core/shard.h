// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Reading the elements of an array of which this rank may hold but a shard.
#pragma once
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// InvalidArgument naming the axis where this rank holds but a shard of x: whoever reads its elements would
/// take them for all. (Gathering them here would wait for ranks that do not read.)
void require_whole(std::string_view who, const Operand& x);

/// InvalidArgument unless the values of x are final and all of them here: no shard, no part of a sum.
void require_final(std::string_view who, const Array& x);

/// The elements of this rank's shard, or of its part of a sum over ranks; of a whole array what to_vector
/// gives.
template <class T>
std::vector<T> local_vector(const Array& x);

/// Pointer to the elements of this rank's shard (or part of a sum), where Array::data() refuses one: for
/// messages between ranks and for files.
template <class T>
T* local_data(const Array& x);

}  // namespace bora::core
