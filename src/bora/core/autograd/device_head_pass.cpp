// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/device_head_pass.h"

#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/mm_ops.h>

#include <algorithm>

#include "bora/core/autograd/joint_pieces.h"
#include "bora/core/cross_entropy.h"

namespace bora::core::autograd {

using at::Tensor;

namespace {

// Itself, where nothing is missing.
Tensor with_zeros_behind(const Tensor& head, std::int64_t rows) {
  const auto own = head.size(0);
  if (own == rows) return head;
  Tensor out = new_beside(head, {rows, head.size(1)});
  out.narrow(0, 0, own).copy_(head);
  out.narrow(0, own, rows - own).zero_();
  return out;
}

}  // namespace

void DeviceHeadPass::begin() {
  const bool halves = hidden.scalar_type() == at::kBFloat16 && head.scalar_type() == at::kBFloat16;
  hidden = halves ? hidden.contiguous() : wide(hidden);
  head = halves ? head.contiguous() : wide(head);
  if (bias.defined()) bias = wide(bias);
  const auto n = hidden.size(0);
  vocab = head.size(0);
  head = with_zeros_behind(head, head_rows(vocab));
  losses = new_floats_beside(hidden, {n});
  lse = new_floats_beside(hidden, {n});
  if (!gradient) return;
  dhidden = new_beside(hidden, {1, n, hidden.size(1)});
  all_of_dhead = new_floats_beside(head, head.sizes());
  dhead = all_of_dhead.narrow(0, 0, vocab);
  if (n == 0) dhead.zero_();
  if (bias.defined()) dbias = new_floats_beside(bias, bias.sizes()).zero_();
}

void DeviceHeadPass::run() {
  begin();
  const auto n = hidden.size(0), chunk = std::min(rule.chunk, n);
  const Tensor room = new_beside(hidden, {chunk, head.size(0)});
  const kernels::HeadMap map{static_cast<float>(rule.logit_scale), static_cast<float>(rule.soft_cap),
                             data(bias)};
  for (std::int64_t first = 0; first < n; first += chunk) {
    const auto rows = std::min(chunk, n - first);
    const Tensor x = hidden.narrow(0, first, rows);
    Tensor z = room.narrow(0, 0, rows);
    at::_ops::mm_out::call(x, head.t(), z);
    recorded_kernels(z).cross_entropy(kernel_type(z), rows, vocab, z.mutable_data_ptr(), z.stride(0),
                                      targets.const_data_ptr<std::int32_t>() + first, data(weights) + first,
                                      static_cast<float>(rule.z_loss), mutable_data(losses) + first,
                                      mutable_data(lse) + first, gradient, map, stream_of(z));
    if (gradient) add_gradients(first, x, z);
  }
}

// Of the chunk of states x, whose products have the gradient z.
void DeviceHeadPass::add_gradients(std::int64_t first, const Tensor& x, const Tensor& z) {
  Tensor dx = dhidden.select(0, 0).narrow(0, first, x.size(0));
  at::_ops::mm_out::call(z, head, dx);
  const std::int64_t before = first == 0 ? 0 : 1;  // times what dhead holds, which may be anything then
  if (z.scalar_type() == at::kBFloat16)
    at::_ops::addmm_dtype_out::call(all_of_dhead, z.t(), x, at::kFloat, before, 1, all_of_dhead);
  else
    at::_ops::addmm_::call(all_of_dhead, z.t(), x, before, 1);
  if (!bias.defined()) return;
  // the scale is behind the products
  dbias.add_(over_rows(at::kFloat, z.narrow(1, 0, vocab)), 1 / rule.logit_scale);
}

}  // namespace bora::core::autograd
