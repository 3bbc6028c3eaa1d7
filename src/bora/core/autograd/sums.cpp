// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/sums.h"

#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/pow_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/kernels/cpu/random.h"
#include "bora/core/kernels/cpu/threads.h"

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
Tensor masked(const Tensor& x, double p, Key key, const BlockOf& block) {
  const Tensor input = x.to(at::kFloat).contiguous();
  Tensor output = at::_ops::empty_like::call(input, {}, {}, {}, {}, {});
  const float* in = input.const_data_ptr<float>();
  float* out = output.mutable_data_ptr<float>();
  block.each_run(input.sizes(), [&](std::int64_t at, std::int64_t place, std::int64_t count) {
    kernels::dropout(key, place, count, static_cast<float>(p), in + at, out + at);
  });
  return output.to(x.scalar_type());
}

struct Dropout : Function<Dropout> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double p, Key key, const BlockOf& block) {
    ctx->saved_data["p"] = p;
    ctx->saved_data["sizes"] = block.sizes;
    ctx->saved_data["first"] = block.first;
    ctx->saved_data["key"] = static_cast<std::int64_t>(key.key);
    ctx->saved_data["stream"] = static_cast<std::int64_t>(key.stream);
    return masked(x, p, key, block);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Key key{static_cast<std::uint64_t>(ctx->saved_data["key"].toInt()),
                  static_cast<std::uint64_t>(ctx->saved_data["stream"].toInt())};
    const BlockOf block{ctx->saved_data["sizes"].toIntVector(), ctx->saved_data["first"].toIntVector()};
    return {masked(grads[0], ctx->saved_data["p"].toDouble(), key, block), Tensor(), Tensor(), Tensor()};
  }
};

Tensor like(const Tensor& x) {
  return at::_ops::empty_like::call(x, {}, {}, {}, {}, at::MemoryFormat::Contiguous);
}

// Calls body(first, count) on pieces of `rows` rows of `width` elements, cut at places that do not depend on
// threads: torch's kernels treat the end of what a thread was given by other instructions than the middle.
template <class Body>
void in_pieces(std::int64_t rows, std::int64_t width, const Body& body) {
  kernels::for_chunks(rows, std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, width)),
                      [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
}

// Both detached, contiguous and [rows, last dimension].
Tensor as_rows(const Tensor& x) { return x.detach().contiguous().view({-1, x.size(-1)}); }

Tensor softmax_rows(const Tensor& x, bool log) {
  Tensor y = like(x);
  if (x.numel() == 0) return y;
  const Tensor in = as_rows(x), out = as_rows(y);
  in_pieces(in.size(0), in.size(1), [&](std::int64_t first, std::int64_t count) {
    Tensor piece = out.narrow(0, first, count);
    const auto op = log ? at::_ops::_log_softmax_out::call : at::_ops::_softmax_out::call;
    op(in.narrow(0, first, count), 1, false, piece);
  });
  return y;
}

Tensor softmax_rows_backward(const Tensor& grad, const Tensor& y, bool log) {
  Tensor dx = like(y);
  if (y.numel() == 0) return dx;
  const Tensor g = as_rows(grad), out = as_rows(y), in = as_rows(dx);
  in_pieces(out.size(0), out.size(1), [&](std::int64_t first, std::int64_t count) {
    Tensor piece = in.narrow(0, first, count);
    const auto op =
        log ? at::_ops::_log_softmax_backward_data_out::call : at::_ops::_softmax_backward_data_out::call;
    op(g.narrow(0, first, count), out.narrow(0, first, count), 1, y.scalar_type(), piece);
  });
  return dx;
}

struct Softmax : Function<Softmax> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, bool log) {
    Tensor y = softmax_rows(x, log);
    ctx->save_for_backward({y});
    ctx->saved_data["log"] = log;
    return y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor y = ctx->get_saved_variables()[0];
    return {softmax_rows_backward(grads[0], y, ctx->saved_data["log"].toBool()), Tensor()};
  }
};

Tensor power_pieces(const Tensor& base, const Tensor& exponent) {
  const Tensor x = base.detach().contiguous().view(-1), p = exponent.detach().contiguous().view(-1);
  Tensor y = like(x);
  in_pieces(x.numel(), 1, [&](std::int64_t first, std::int64_t count) {
    Tensor piece = y.narrow(0, first, count);
    at::_ops::pow_Tensor_Tensor_out::call(x.narrow(0, first, count), p.narrow(0, first, count), piece);
  });
  return y.view(base.sizes());
}

struct Power : Function<Power> {
  static Tensor forward(AutogradContext* ctx, const Tensor& base, const Tensor& exponent) {
    Tensor y = power_pieces(base, exponent);
    ctx->save_for_backward({base, exponent, y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &p = saved[1], &y = saved[2], &g = grads[0], zero = g.new_zeros({});
    Tensor dx, dp;
    if (ctx->needs_input_grad(0)) dx = g.mul(p.mul(power_pieces(x, p.sub(1)))).where(p.ne(0), zero);
    // the limit of 0^p log 0 for p >= 0
    if (ctx->needs_input_grad(1)) dp = g.mul(y.mul(x.log()).where(x.ne(0).logical_or(p.lt(0)), zero));
    return {dx, dp};
  }
};

}  // namespace

Tensor softmax_last(const Tensor& x, bool log) {
  return recorded(x) ? Softmax::apply(x, log) : softmax_rows(x, log);
}

Tensor power(const Tensor& base, const Tensor& exponent) {
  return recorded(base) || recorded(exponent) ? Power::apply(base, exponent) : power_pieces(base, exponent);
}

Tensor fixed_sum(const Tensor& x) { return recorded(x) ? SumAll::apply(x) : sum_all(x); }

Tensor expand_one(const Tensor& x, at::IntArrayRef sizes) {
  return recorded(x) ? ExpandOne::apply(x, sizes) : x.reshape({}).expand(sizes);
}

void BlockOf::each_run(at::IntArrayRef own, const Run& run) const {
  // the last dimensions that are here whole make one run of elements with the one before them
  std::size_t dim = own.size();
  std::int64_t inner = 1;
  while (dim > 0 && (sizes.empty() || own[dim - 1] == sizes[dim - 1])) inner *= own[--dim];
  if (dim == 0) return run(0, 0, inner);
  --dim;
  const std::int64_t length = own[dim] * inner;
  std::vector<std::int64_t> at(dim, 0);
  for (std::int64_t done = 0;; done += length) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dim; ++d) place = place * sizes[d] + first[d] + at[d];
    run(done, (place * sizes[dim] + first[dim]) * inner, length);
    std::size_t d = dim;
    while (d > 0 && ++at[d - 1] == own[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

Tensor dropout(const Tensor& x, double p, Key key, const BlockOf& block) {
  return recorded(x) ? Dropout::apply(x, p, key, block) : masked(x, p, key, block);
}

}  // namespace bora::core
