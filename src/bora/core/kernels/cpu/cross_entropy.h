// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Softmax cross-entropy of `rows` rows of logits [rows, vocab], in place. For row i with target t and weight
/// w:
///   loss[i] = lse - logits[t]            (natural logarithm, not yet weighted)
///   lse[i]  = log sum exp(logits)
/// If `gradient`, the logits are replaced by w·((1 + 2·z_loss·lse)·softmax - onehot(t)), the gradient of
/// w·(loss + z_loss·lse²) in the logits. A row with target < 0 counts as weight 0 (loss and gradient 0).
void cross_entropy(std::int64_t rows, std::int64_t vocab, float* logits, std::int64_t stride,
                   const std::int32_t* targets, const float* weights, float z_loss, float* loss, float* lse,
                   bool gradient);

// The same where several workers hold some columns of the logits each, in steps between which they talk:
/// most[i] = greatest of row i.
void row_maxima(std::int64_t rows, std::int64_t columns, const float* logits, float* most);
/// logits = exp(logits - most[i]), totals[i] = their sum.
void row_exponentials(std::int64_t rows, std::int64_t columns, float* logits, const float* most,
                      double* totals);
/// Row i, as row_exponentials left it, times scale[i]; then less weights[i] in column targets[i], if that is
/// one of the row's.
void row_gradients(std::int64_t rows, std::int64_t columns, float* logits, const double* scale,
                   const std::int32_t* targets, const float* weights);

}  // namespace bora::kernels
