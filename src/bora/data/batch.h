// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <vector>

namespace bora::data {

/// The sequences of one step, row-major [sequences, seq_len].
struct Batch {
  std::int64_t step = 0;
  std::int64_t sequences = 0;
  std::int64_t seq_len = 0;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t>
      segments;                     ///< document number within a sequence; empty: attention crosses documents
  std::vector<float> loss_weights;  ///< weight of predicting the token after each position; 0 at the last
  std::vector<std::int32_t> sources;  ///< by sequence, the number of the data set it came from
};

}  // namespace bora::data
