// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/torch/autograd.h"

#include <ATen/ops/cat_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/kernels/random.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Below at::internal::GRAIN_SIZE, so that at::sum of one chunk never splits.
constexpr std::int64_t kChunk = 16384;

Tensor sum_chunks(const Tensor& flat) {
  const std::int64_t n = flat.numel(), whole = n / kChunk;
  if (n <= kChunk) return flat.sum();
  Tensor sums = flat.narrow(0, 0, whole * kChunk).view({whole, kChunk}).sum(1);
  if (whole * kChunk < n) {
    const Tensor rest = flat.narrow(0, whole * kChunk, n - whole * kChunk).sum().view({1});
    sums = at::_ops::cat::call(at::ITensorListRef({sums, rest}), 0);
  }
  return sum_chunks(sums);
}

Tensor sum_all(const Tensor& x) {
  const bool narrow = x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
  const Tensor flat = narrow ? x.to(at::kFloat).reshape({-1}) : x.reshape({-1});
  const Tensor total = sum_chunks(flat);
  return narrow ? total.to(x.scalar_type()) : total;
}

bool recorded(const Tensor& x) { return x.requires_grad() && at::GradMode::is_enabled(); }

struct SumAll : Function<SumAll> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->saved_data["sizes"] = x.sizes().vec();
    return sum_all(x);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0].expand(ctx->saved_data["sizes"].toIntVector())};
  }
};

struct ExpandOne : Function<ExpandOne> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, at::IntArrayRef sizes) {
    ctx->saved_data["sizes"] = x.sizes().vec();
    return x.detach().reshape({}).expand(sizes);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {fixed_sum(grads[0]).view(ctx->saved_data["sizes"].toIntVector()), Tensor()};
  }
};

// The mask is drawn in fp32 for every type: it depends on (key, index) alone.
Tensor masked(const Tensor& x, double p, Key key) {
  const Tensor input = x.to(at::kFloat).contiguous();
  Tensor output = at::_ops::empty_like::call(input, {}, {}, {}, {}, {});
  kernels::dropout(key, 0, input.numel(), static_cast<float>(p), input.const_data_ptr<float>(),
                   output.mutable_data_ptr<float>());
  return output.to(x.scalar_type());
}

struct Dropout : Function<Dropout> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double p, Key key) {
    ctx->saved_data["p"] = p;
    ctx->saved_data["key"] = static_cast<std::int64_t>(key.key);
    ctx->saved_data["stream"] = static_cast<std::int64_t>(key.stream);
    return masked(x, p, key);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Key key{static_cast<std::uint64_t>(ctx->saved_data["key"].toInt()),
                  static_cast<std::uint64_t>(ctx->saved_data["stream"].toInt())};
    return {masked(grads[0], ctx->saved_data["p"].toDouble(), key), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor fixed_sum(const Tensor& x) { return recorded(x) ? SumAll::apply(x) : sum_all(x); }

Tensor expand_one(const Tensor& x, at::IntArrayRef sizes) {
  return recorded(x) ? ExpandOne::apply(x, sizes) : x.reshape({}).expand(sizes);
}

Tensor dropout(const Tensor& x, double p, Key key) {
  return recorded(x) ? Dropout::apply(x, p, key) : masked(x, p, key);
}

}  // namespace bora::core
