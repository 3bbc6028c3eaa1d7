// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/head_pass.h"

#include <ATen/ops/zeros_like_ops.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/mapping.h"

namespace bora::core::autograd {

namespace {

// Whether products with a head [vocab, embed] of bf16 read it as it lies, in each of the chunks of `rows` rows.
bool reads_head_as_it_lies(std::int64_t rows, std::int64_t chunk, std::int64_t vocab, std::int64_t embed) {
  const auto reads = [&](std::int64_t m) {
    return m == 0 ||
           (kernels::reads_halves(m, vocab, embed, true) && kernels::reads_halves(m, embed, vocab, true));
  };
  return reads(chunk) && reads(rows % chunk);
}

}  // namespace

void HeadPass::run() {
  // Of bf16 states and head, the gradient of the logits counts as bf16 in products, as they do.
  const bool is_bf16 = hidden.scalar_type() == at::kBFloat16 && head.scalar_type() == at::kBFloat16;
  hidden = wide(hidden);
  auto n = hidden.size(0), e = hidden.size(1), vocab = head.size(0), columns = vocab / rule.lanes;
  auto chunk = std::min(rule.chunk, n);
  const bool as_it_lies = is_bf16 && reads_head_as_it_lies(n, chunk, columns, e);
  head = as_it_lies ? head.contiguous() : wide(head);
  if (bias.defined()) bias = wide(bias);
  auto logits = new_floats({rule.lanes, chunk, columns});
  auto losses = new_floats({chunk}), lse = new_floats({chunk});
  if (gradient) {
    dhidden = new_floats({rule.lanes, n, e});
    dhead = new_floats(head.sizes());
    if (bias.defined()) dbias = at::_ops::zeros_like::call(bias, {}, {}, {}, {}, {});
  }
  const auto* x = hidden.const_data_ptr<float>();
  const kernels::MatrixRef w = as_it_lies
                                   ? kernels::matrix_of_halves(head.const_data_ptr(), e)
                                   : kernels::MatrixRef{head.const_data_ptr<float>(), e, false, is_bf16};
  const auto rows_of_lane = [&](std::int64_t lane, bool transposed) {
    kernels::MatrixRef part = w.from(lane * columns, 0);
    part.transposed = transposed;
    return part;
  };
  const auto* t = targets.const_data_ptr<std::int32_t>();
  const auto* p = weights.const_data_ptr<float>();
  auto* z = logits.mutable_data_ptr<float>();
  for (std::int64_t first = 0; first < n; first += chunk) {
    auto rows = std::min(chunk, n - first);
    for (std::int64_t lane = 0; lane < rule.lanes; ++lane) {
      kernels::matmul(rows, columns, e, {x + first * e, e, false, is_bf16}, rows_of_lane(lane, true),
                      z + lane * chunk * columns, columns);
    }
    if (rule.workers == nullptr) {
      kernels::cross_entropy(rows, vocab, z, vocab, t + first, p + first, static_cast<float>(rule.z_loss),
                             losses.mutable_data_ptr<float>(), lse.mutable_data_ptr<float>(), gradient,
                             map_of(0));
    } else {
      across_workers(rows, columns, z, chunk * columns, t + first, p + first,
                     losses.mutable_data_ptr<float>(), lse.mutable_data_ptr<float>());
    }
    add_losses(rows, p + first, losses.const_data_ptr<float>(), lse.const_data_ptr<float>());
    if (look) look(first, rows, losses.const_data_ptr<float>(), lse.const_data_ptr<float>(), z);
    if (!gradient) continue;
    for (std::int64_t lane = 0; lane < rule.lanes; ++lane) {
      const auto* zl = z + lane * chunk * columns;
      kernels::matmul(rows, e, columns, {zl, columns, false, is_bf16}, rows_of_lane(lane, false),
                      dhidden.mutable_data_ptr<float>() + (lane * n + first) * e, e);
      kernels::matmul(columns, e, rows, {zl, columns, true, is_bf16}, {x + first * e, e, false, is_bf16},
                      dhead.mutable_data_ptr<float>() + lane * columns * e, e, {first == 0 ? 0.0F : 1.0F});
      // z is the gradient of the products, which the scale is behind
      if (bias.defined())
        kernels::add_column_sums(rows, columns, zl, static_cast<float>(1 / rule.logit_scale),
                                 dbias.mutable_data_ptr<float>() + lane * columns);
    }
  }
}

// For the columns from one on.
kernels::HeadMap HeadPass::map_of(std::int64_t column) const {
  return {static_cast<float>(rule.logit_scale), static_cast<float>(rule.soft_cap),
          bias.defined() ? bias.const_data_ptr<float>() + column : nullptr};
}

// As kernels::cross_entropy where each worker has its own columns of the logits, in one block for each of
// its lanes.
void HeadPass::across_workers(std::int64_t rows, std::int64_t columns, float* z, std::int64_t stride,
                              const std::int32_t* chosen, const float* w, float* losses, float* lse) const {
  const auto n = static_cast<std::size_t>(rows), lanes = static_cast<std::size_t>(rule.lanes);
  const auto map = [&](std::size_t lane) { return map_of(static_cast<std::int64_t>(lane) * columns); };
  std::vector<float> most(n), of_lane(n);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    kernels::row_maxima(rows, columns, z + static_cast<std::int64_t>(lane) * stride, of_lane.data(),
                        map(lane));
    for (std::size_t i = 0; i < n; ++i) most[i] = lane == 0 ? of_lane[i] : std::max(most[i], of_lane[i]);
  }
  rule.workers->all_reduce(DType::f32, std::as_writable_bytes(std::span(most)), Collectives::Combine::max);
  // of each lane: sums of exponentials, and the target's logit
  std::vector<std::vector<double>> sums(lanes, std::vector<double>(2 * n));
  std::vector<std::vector<std::int32_t>> here(lanes, std::vector<std::int32_t>(n));
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    float* zl = z + static_cast<std::int64_t>(lane) * stride;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = chosen[i] < 0 ? -1 : chosen[i] - rule.first - static_cast<std::int64_t>(lane) * columns;
      here[lane][i] = static_cast<std::int32_t>(at >= 0 && at < columns ? at : -1);
      if (here[lane][i] >= 0) sums[lane][n + i] = zl[static_cast<std::int64_t>(i) * columns + at];
    }
    kernels::row_exponentials(rows, columns, zl, most.data(), sums[lane].data(), map(lane));
  }
  for (std::size_t step = 1; step < lanes; step *= 2) {
    for (std::size_t left = 0; left + step < lanes; left += 2 * step)
      for (std::size_t i = 0; i < 2 * n; ++i) sums[left][i] += sums[left + step][i];
  }
  rule.workers->all_reduce(DType::f64, std::as_writable_bytes(std::span(sums[0])), Collectives::Combine::sum);
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double log_sum = std::log(sums[0][i]) + static_cast<double>(most[i]);
    const bool counts = chosen[i] >= 0;
    lse[i] = static_cast<float>(log_sum);
    losses[i] = counts ? static_cast<float>(log_sum - sums[0][n + i]) : 0;
    scale[i] = counts ? w[i] * (1 + 2 * rule.z_loss * log_sum) / sums[0][i] : 0;
  }
  for (std::size_t lane = 0; gradient && lane < lanes; ++lane) {
    kernels::row_gradients(rows, columns, z + static_cast<std::int64_t>(lane) * stride, most.data(),
                           scale.data(), here[lane].data(), w, map(lane));
  }
}

// In order of positions, in double: one thread, so one order.
void HeadPass::add_losses(std::int64_t rows, const float* w, const float* losses, const float* lse) {
  for (std::int64_t i = 0; i < rows; ++i) {
    if (w[i] != 0) loss += w[i] * (static_cast<double>(losses[i]) + rule.z_loss * lse[i] * lse[i]);
  }
}

}  // namespace bora::core::autograd
