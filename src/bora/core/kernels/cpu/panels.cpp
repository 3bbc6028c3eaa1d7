// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/panels.h"

#include <algorithm>

#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

// Columns of one task: its right panels, over a part of k, stay in the second cache.
constexpr i64 kTaskColumns = 256;
// Products with at most kNarrow columns: each task packs its own rows, few enough that all threads get a
// share.
constexpr i64 kNarrow = 256;
// Products with few rows, of so many tasks at most: each task packs its own columns of the right side, no more than
// stay in the second cache beside the left side.
constexpr i64 kFewTasks = 3, kOwnColumns = 64;
// What is packed at once, in elements.
constexpr i64 kPackedLeft = 1 << 20, kPackedRight = 1 << 21, kPackedInner = 1536;
// One packing task: so much of k, or so many rows or columns (a multiple of both sides of every tile).
constexpr i64 kPackedAtOnce = 128, kPackedPanels = 96;

constexpr i64 up(i64 n, i64 to) { return (n + to - 1) / to * to; }

/// Largest multiple of `task` whose packed side, `k` long, holds `budget` elements, but no more than n needs.
i64 block_side(i64 n, i64 k, i64 budget, i64 task) {
  return std::min(up(n, task), std::max(task, budget / k / task * task));
}

/// Parts of one side to pack: [step of rows or columns] x [step of k].
struct PackTasks {
  i64 side, k, side_step, k_step;
  i64 across() const { return (side + side_step - 1) / side_step; }
  i64 count() const { return across() * ((k + k_step - 1) / k_step); }
};

// Many parts, so that no thread waits: along columns cut in k, else in panels.
PackTasks pack_tasks(i64 side, i64 k, bool along, i64 wide_step) {
  return along ? PackTasks{side, k, wide_step, kPackedAtOnce} : PackTasks{side, k, kPackedPanels, k};
}

void pack(const PanelKernel& kernel, const ProductBlock& p, bool left_too, bool right_too) {
  const PackTasks left = pack_tasks(left_too ? p.m : 0, p.k, p.a.transposed, kernel.task_rows);
  const PackTasks right = pack_tasks(right_too ? p.n : 0, p.k, !p.b.transposed, kTaskColumns);
  for_chunks(left.count() + right.count(), 1, [&](i64 task, i64) {
    const bool is_right = task < right.count();
    const PackTasks& t = is_right ? right : left;
    if (!is_right) task -= right.count();
    const i64 at = task % t.across() * t.side_step, first = task / t.across() * t.k_step;
    const i64 count = std::min(t.side_step, t.side - at), last = std::min(first + t.k_step, t.k);
    (is_right ? kernel.pack_right : kernel.pack_left)(p, at, count, first, last);
  });
}

void multiply(const PanelKernel& kernel, const ProductBlock& p) {
  const i64 step = kernel.task_rows, rows = (p.m + step - 1) / step;
  const i64 columns = (p.n + kTaskColumns - 1) / kTaskColumns;
  for_chunks(rows * columns, 1, [&](i64 task, i64) {
    const i64 i = task % rows * step, j = task / rows * kTaskColumns;  // neighbours share their right side
    kernel.multiply_part(p, i, std::min(i + step, p.m), j, std::min(j + kTaskColumns, p.n));
  });
}

/// The same for a narrow c: no part of the left side serves two tasks, so it is packed where it is used.
void multiply_narrow(const PanelKernel& kernel, const ProductBlock& p) {
  const i64 task_rows = p.m <= 4 * kernel.narrow_rows ? kernel.narrow_few_rows : kernel.narrow_rows;
  for_chunks(p.m, task_rows, [&](i64 begin, i64 end) {
    ProductBlock task = p;
    task.a = p.a.from(begin, 0);
    task.c += begin * p.c_stride;
    task.m = end - begin;
    if (p.a.transposed || p.a.stride > kernel.rows_as_they_are) {
      task.left = scratch(Scratch::partial, task_rows * p.panel_k * kernel.two_take / 2);
      kernel.pack_left(task, 0, task.m, 0, task.k);
    }
    for (i64 j = 0; j < p.n; j += kTaskColumns) {
      kernel.multiply_part(task, 0, task.m, j, std::min(j + kTaskColumns, p.n));
    }
  });
}

/// The same for few rows: packing the right side for all would write and read as much again as it is. So it comes
/// from memory once.
void multiply_few_rows(const PanelKernel& kernel, const ProductBlock& p) {
  for_chunks(p.n, kOwnColumns, [&](i64 begin, i64 end) {
    ProductBlock task = p;
    task.b = p.b.from(0, begin);
    task.c += begin;
    task.n = end - begin;
    task.right = scratch(Scratch::packed, kOwnColumns * p.panel_k * kernel.two_take / 2);
    kernel.pack_right(task, 0, task.n, 0, task.k);
    kernel.multiply_part(task, 0, task.m, 0, task.n);
  });
}

void scale_output(i64 m, i64 n, float* c, i64 c_stride, float beta) {
  for_chunks(m, 16, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      for (i64 j = 0; j < n; ++j) c[i * c_stride + j] = beta == 0 ? 0.0F : c[i * c_stride + j] * beta;
    }
  });
}

}  // namespace

void multiply_in_panels(const PanelKernel& kernel, i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c,
                        i64 c_stride, Store store) {
  if (m <= 0 || n <= 0) return;
  if (k == 0 || (store.beta != 0 && store.beta != 1)) scale_output(m, n, c, c_stride, store.beta);
  const i64 inner = up(std::min(k, kPackedInner), kernel.group);
  if (inner == 0) return;
  const bool narrow = n <= kNarrow, few = !narrow && m <= kFewTasks * kernel.task_rows;
  const i64 rows = narrow ? m
                   : few  ? up(m, kernel.task_rows)
                          : block_side(m, inner, kPackedLeft, kernel.task_rows),
            columns = few ? n : block_side(n, inner, kPackedRight, kTaskColumns);
  const i64 left_take = rows * inner * kernel.two_take / 2,
            right_take = columns * inner * kernel.two_take / 2;
  float *left = narrow ? nullptr : scratch(Scratch::partial, left_take),
        *right = few ? nullptr : scratch(Scratch::packed, right_take);
  for (i64 j = 0; j < n; j += columns) {
    for (i64 first = 0; first < k; first += inner) {
      for (i64 i = 0; i < m; i += rows) {
        ProductBlock block{.a = a.from(i, first),
                           .b = b.from(first, j),
                           .c = c + i * c_stride + j,
                           .c_stride = c_stride,
                           .m = std::min(rows, m - i),
                           .n = std::min(columns, n - j),
                           .k = std::min(inner, k - first),
                           .panel_k = 0,
                           .left = left,
                           .right = right,
                           .add = store.beta != 0 || first > 0,
                           .past_caches = store.past_caches && k <= inner};
        block.panel_k = up(block.k, kernel.group);
        pack(kernel, block, !narrow, !few && i == 0);
        (narrow ? multiply_narrow : few ? multiply_few_rows : multiply)(kernel, block);
      }
    }
  }
}

}  // namespace bora::kernels
