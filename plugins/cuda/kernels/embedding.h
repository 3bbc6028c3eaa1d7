// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "numbers.h"

namespace bora::cuda {

/// The gradient of rows of a table that `ids` chose: table[id] = sum of dy [place] over all places of the id,
/// in 32 at a time by the order of places. T is float or Bf16.
template <class T>
struct EmbeddingBackward {
  std::int64_t places, width, vocab;
  const std::int32_t* ids;    ///< [places], sorted; one outside of the table is left out
  const std::int32_t* order;  ///< [places]: where in dy each stood before, ascending within an id
  const T* dy;                ///< [places, width]
  float* table;               ///< [vocab, width], 0 before
  float* room;                ///< embedding_backward_room() floats
};
template <class T>
void embedding_backward(const EmbeddingBackward<T>& a, Stream stream);
std::int64_t embedding_backward_room(std::int64_t places, std::int64_t width);

}  // namespace bora::cuda
