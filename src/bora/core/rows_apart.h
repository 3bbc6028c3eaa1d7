// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::core {

/// While it lives, this thread computes matrix products over a batch of `rows`, the first axis of a left
/// operand, as if each row were alone: its bits do not depend on how many others there are. (Kernels choose
/// by the size of the whole.) Rows share what is read of the right operand. They nest; the innermost counts.
/// Rows of few positions, 16 at most, have a kernel that training has not, also where there is but one row:
/// what is read one token at a time gets other last bits than what is read as a whole.
class RowsApart {
 public:
  explicit RowsApart(std::int64_t rows);
  ~RowsApart();
  RowsApart(const RowsApart&) = delete;
  RowsApart& operator=(const RowsApart&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace bora::core
