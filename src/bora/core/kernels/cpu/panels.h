// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// A block of the product with its packed sides; `add` to what c holds.
struct ProductBlock {
  MatrixRef a, b;
  float* c;
  std::int64_t c_stride;
  std::int64_t m, n, k;
  std::int64_t panel_k;  ///< k of the packed panels: rounded up to whole groups
  float *left, *right;   ///< panels of rows of a, of columns of b; no left: a as it is
  bool add;
  bool past_caches;  ///< what is written once goes past the caches, where the kernel can
};

/// How one kind of CPU packs panels and multiplies them. Blocks, tasks and threads around it are the same for
/// all (Goto and van de Geijn 2008).
struct PanelKernel {
  std::int64_t group;      ///< k is packed in whole groups of so many
  std::int64_t two_take;   ///< floats that two packed elements take
  std::int64_t task_rows;  ///< of c that one task computes: a multiple of a tile's, as the next two
  std::int64_t narrow_rows, narrow_few_rows;  ///< the same where c has few columns; and few rows, too
  std::int64_t rows_as_they_are;  ///< no further apart than this, narrow products do not pack them
  /// Rows [row, row + rows) of the left side (columns of the right one), over k in [first, last).
  void (*pack_left)(const ProductBlock&, std::int64_t row, std::int64_t rows, std::int64_t first,
                    std::int64_t last);
  void (*pack_right)(const ProductBlock&, std::int64_t column, std::int64_t columns, std::int64_t first,
                     std::int64_t last);
  /// One task: a part of c over all of the block's k.
  void (*multiply_part)(const ProductBlock&, std::int64_t row_begin, std::int64_t row_end,
                        std::int64_t column_begin, std::int64_t column_end);
};

/// c [m, n] = a [m, k] · b [k, n] + beta · c. Every element is summed over fixed blocks of k in one order, so
/// its bits depend on neither the threads nor the other rows and columns.
void multiply_in_panels(const PanelKernel& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                        MatrixRef a, MatrixRef b, float* c, std::int64_t c_stride, Store store);

}  // namespace bora::kernels
