// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Which tensors of a GGUF file hold which parameters: one list for writing and for reading.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bora/checkpoint/hugging_face.h"
#include "bora/run/gguf_families.h"

namespace bora::run {

/// A tensor of a file. The parameters [begin, end) of the list are its rows; those of experts are one parameter.
struct GgufPlace {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;
  bool stays_f32 = false;          ///< whatever the type of matrices is
  bool one_more = false;           ///< the file has 1 + value
  GgufRows rows = GgufRows::same;  ///< in the file
};

/// Where row `row` of a tensor stands in the file, of `heads` heads of `head` elements.
std::int64_t gguf_row(GgufRows rows, std::int64_t row, std::int64_t heads, std::int64_t head);

/// In the order of the parameters.
std::vector<GgufPlace> gguf_places(const GgufFamily& family,
                                   std::span<const checkpoint::HfParameter> parameters);

}  // namespace bora::run
