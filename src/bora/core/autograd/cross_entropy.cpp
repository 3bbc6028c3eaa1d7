// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/cross_entropy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/zeros_like_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/cross_entropy.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/layout/convert.h"
#include "bora/core/plain/cross_entropy.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One pass over chunks of positions: logits, losses, and at once the gradients of a loss whose own gradient
// is 1.
struct HeadPass {
  Tensor hidden, head, bias, targets, weights;  // bias may be undefined
  CrossEntropyRule rule;
  bool gradient;
  Tensor dhidden, dhead, dbias;  // dhidden once for each lane
  double loss = 0;

  void run() {
    auto n = hidden.size(0), e = hidden.size(1), vocab = head.size(0), columns = vocab / rule.lanes;
    auto chunk = std::min(rule.chunk, n);
    auto logits = new_floats({rule.lanes, chunk, columns});
    auto losses = new_floats({chunk}), lse = new_floats({chunk});
    if (gradient) {
      dhidden = new_floats({rule.lanes, n, e});
      dhead = new_floats(head.sizes());
      if (bias.defined()) dbias = at::_ops::zeros_like::call(bias, {}, {}, {}, {}, {});
    }
    const auto *x = hidden.const_data_ptr<float>(), *w = head.const_data_ptr<float>();
    const auto* t = targets.const_data_ptr<std::int32_t>();
    const auto* p = weights.const_data_ptr<float>();
    auto* z = logits.mutable_data_ptr<float>();
    for (std::int64_t first = 0; first < n; first += chunk) {
      auto rows = std::min(chunk, n - first);
      for (std::int64_t lane = 0; lane < rule.lanes; ++lane) {
        kernels::matmul(rows, columns, e, {x + first * e, e}, {w + lane * columns * e, e, true},
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
      if (!gradient) continue;
      for (std::int64_t lane = 0; lane < rule.lanes; ++lane) {
        const auto *zl = z + lane * chunk * columns, *wl = w + lane * columns * e;
        kernels::matmul(rows, e, columns, {zl, columns}, {wl, e},
                        dhidden.mutable_data_ptr<float>() + (lane * n + first) * e, e);
        kernels::matmul(columns, e, rows, {zl, columns, true}, {x + first * e, e},
                        dhead.mutable_data_ptr<float>() + lane * columns * e, e, first == 0 ? 0.0F : 1.0F);
        // z is the gradient of the products, which the scale is behind
        if (bias.defined())
          kernels::add_column_sums(rows, columns, zl, static_cast<float>(1 / rule.logit_scale),
                                   dbias.mutable_data_ptr<float>() + lane * columns);
      }
    }
  }
  // For the columns from one on.
  kernels::HeadMap map_of(std::int64_t column) const {
    return {static_cast<float>(rule.logit_scale), static_cast<float>(rule.soft_cap),
            bias.defined() ? bias.const_data_ptr<float>() + column : nullptr};
  }
  // As kernels::cross_entropy where each worker has its own columns of the logits, in one block for each of
  // its lanes.
  void across_workers(std::int64_t rows, std::int64_t columns, float* z, std::int64_t stride,
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
        const auto at =
            chosen[i] < 0 ? -1 : chosen[i] - rule.first - static_cast<std::int64_t>(lane) * columns;
        here[lane][i] = static_cast<std::int32_t>(at >= 0 && at < columns ? at : -1);
        if (here[lane][i] >= 0) sums[lane][n + i] = zl[static_cast<std::int64_t>(i) * columns + at];
      }
      kernels::row_exponentials(rows, columns, zl, most.data(), sums[lane].data(), map(lane));
    }
    for (std::size_t step = 1; step < lanes; step *= 2) {
      for (std::size_t left = 0; left + step < lanes; left += 2 * step)
        for (std::size_t i = 0; i < 2 * n; ++i) sums[left][i] += sums[left + step][i];
    }
    rule.workers->all_reduce(DType::f64, std::as_writable_bytes(std::span(sums[0])),
                             Collectives::Combine::sum);
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
  void add_losses(std::int64_t rows, const float* w, const float* losses, const float* lse) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (w[i] != 0) loss += w[i] * (static_cast<double>(losses[i]) + rule.z_loss * lse[i] * lse[i]);
    }
  }
};

// A target below 0 stands where nothing is to be predicted.
void check_targets(const Tensor& targets, const Tensor& weights, std::int64_t vocab) {
  const auto* t = targets.const_data_ptr<std::int32_t>();
  const auto* w = weights.const_data_ptr<float>();
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    if (t[i] < vocab && (t[i] >= 0 || w[i] == 0)) continue;
    fail(ErrorKind::InvalidArgument,
         "linear_cross_entropy: target {} at position {} is outside the vocabulary of {}\nhint: the "
         "tokenizer and the model disagree on vocab_size",
         t[i], i, vocab);
  }
}

// Sums of losses: their gradients are known with them.
struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden, const Tensor& head,
                        const std::optional<Tensor>& bias, const Tensor& targets, const Tensor& weights,
                        const CrossEntropyRule& rule) {
    bool gradient = hidden.requires_grad() || head.requires_grad() || (bias && bias->requires_grad());
    HeadPass pass{wide(hidden), wide(head), wide(bias), targets, weights, rule, gradient, {}, {}, {}};
    pass.run();
    if (gradient) {
      ctx->saved_data["hidden"] = cast(pass.dhidden, hidden.scalar_type());
      ctx->saved_data["head"] = cast(pass.dhead, head.scalar_type());
      if (bias) ctx->saved_data["bias"] = cast(pass.dbias, bias->scalar_type());
    }
    auto loss = new_floats({});
    *loss.mutable_data_ptr<float>() = static_cast<float>(pass.loss);
    return loss;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto known = std::exchange(ctx->saved_data, {});
    const bool scaled = grads[0].item().toDouble() != 1.0;
    const auto gradient = [&](const char* of) {
      const auto at = known.find(of);
      if (at == known.end()) return Tensor();
      auto x = at->second.toTensor();
      return scaled ? at::_ops::mul_Tensor::call(x, grads[0].to(x.scalar_type())) : x;
    };
    return {sum_of_lanes(gradient("hidden").unbind(0)),
            gradient("head"),
            gradient("bias"),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                            const Tensor& targets, const Tensor& weights, const CrossEntropyRule& rule) {
  if (targets.is_cpu()) check_targets(targets, weights, rule.vocab);  // a device would have to be waited for
  if (!has_kernel(hidden)) return plain::linear_cross_entropy(hidden, head, bias, targets, weights, rule);
  return LinearCrossEntropy::apply(hidden, head, bias, targets, weights, rule);
}

}  // namespace bora::core::autograd
