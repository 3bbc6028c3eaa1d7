// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/head_map.h"

namespace bora::kernels {

/// Softmax cross-entropy of `rows` rows of products x [rows, vocab], in place; the logits are map(x). For row
/// i with target t and weight w:
///   loss[i] = lse - logits[t]            (natural logarithm, not yet weighted)
///   lse[i]  = log sum exp(logits)
/// If `gradient`, x is replaced by the gradient of w·(loss + z_loss·lse²) in x: with the identity map
/// w·((1 + 2·z_loss·lse)·softmax - onehot(t)). Without it logits are left there. A row with target < 0 counts
/// as weight 0 (loss and gradient 0).
void cross_entropy(std::int64_t rows, std::int64_t vocab, float* x, std::int64_t stride,
                   const std::int32_t* targets, const float* weights, float z_loss, float* loss, float* lse,
                   bool gradient, const HeadMap& map = {});

// The same where several workers hold some columns of the logits each, in steps between which they talk:
/// x = logits = map(x), most[i] = greatest of row i.
void row_maxima(std::int64_t rows, std::int64_t columns, float* x, float* most, const HeadMap& map = {});
/// totals[i] = sum of exp(logits - most[i]), which replace the logits unless the map caps them.
void row_exponentials(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                      double* totals, const HeadMap& map = {});
/// Row i, as row_exponentials left it, becomes its gradient in x: exp(logits - most[i])·scale[i], less
/// weights[i] in column targets[i], if that is one of the row's, times the slope of the map.
void row_gradients(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                   const double* scale, const std::int32_t* targets, const float* weights,
                   const HeadMap& map = {});

/// sums[j] += by · (sum over rows of x[row, j]), rows in order.
void add_column_sums(std::int64_t rows, std::int64_t columns, const float* x, float by, float* sums);

}  // namespace bora::kernels
