// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/dropout.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/pass_notes.h"
#include "bora/core/autograd/pieces.h"
#include "bora/core/kernels/cpu/random.h"
#include "bora/core/plain/dropout.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The mask is drawn in fp32 for every type: it depends on (key, index) alone.
Tensor masked(const Tensor& x, double p, Key key, const BlockOf& block) {
  const Tensor input = x.is_cpu() ? autograd::wide(x) : autograd::kernel_operand(x);
  Tensor output = at::_ops::empty_like::call(input, {}, {}, {}, {}, {});
  const auto* in = static_cast<const char*>(input.const_data_ptr());
  auto* out = static_cast<char*>(output.mutable_data_ptr());
  const auto size = static_cast<std::int64_t>(input.element_size());
  const Key* there = x.is_cpu() ? nullptr : place_of_key(key);
  block.each_run(input.sizes(), [&](std::int64_t at, std::int64_t place, std::int64_t count) {
    if (x.is_cpu()) {
      kernels::dropout(key, place, count, static_cast<float>(p), autograd::data(input) + at,
                       autograd::mutable_data(output) + at);
    } else {
      recorded_kernels(x).dropout(key, there, place, count, static_cast<float>(p),
                                  autograd::kernel_type(input), in + at * size, out + at * size,
                                  stream_of(x));
    }
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

}  // namespace

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
  const bool kernel = x.is_cpu()
                          ? !autograd::is_plain(x)
                          : autograd::goes_to_kernel(x, [](const DeviceKernels& k) { return k.dropout; });
  if (!kernel) return plain::dropout(x, p, key, block);
  return recorded(x) ? Dropout::apply(x, p, key, block) : masked(x, p, key, block);
}

}  // namespace bora::core
