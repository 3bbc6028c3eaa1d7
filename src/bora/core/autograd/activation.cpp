// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/activation.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/largest.h"
#include "bora/core/autograd/side_by_side.h"
#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/plain/activation.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, std::int64_t f) {
    auto input = kernel_operand(x), y = new_beside(input, x.sizes());
    const auto function = static_cast<Activation>(f);
    if (x.is_cpu()) {
      kernels::activate(function, y.numel(), values(input), results(y));
    } else {
      recorded_kernels(x).activate.forward(function, kernel_type(input), y.numel(), input.const_data_ptr(),
                                           y.mutable_data_ptr(), largest_beside(y), stream_of(x));
    }
    ctx->save_for_backward({x});
    ctx->saved_data["f"] = f;
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto x = ctx->get_saved_variables()[0];
    auto input = kernel_operand(x), dy = kernel_operand(grads[0]), dx = new_beside(input, input.sizes());
    const auto f = static_cast<Activation>(ctx->saved_data["f"].toInt());
    if (x.is_cpu()) {
      kernels::activate_backward(f, dx.numel(), values(input), values(dy), results(dx));
    } else {
      recorded_kernels(x).activate.backward(f, kernel_type(input), dx.numel(), input.const_data_ptr(),
                                            dy.const_data_ptr(), dx.mutable_data_ptr(), largest_beside(dx),
                                            stream_of(x));
    }
    return {cast(dx, x.scalar_type()), Tensor()};
  }
};

// Elements from a row to the next, where rows of the last dimension lie at one distance and without gaps in them;
// else 0.
std::int64_t distance_of_rows(const Tensor& x) {
  if (x.dim() == 0 || x.numel() == 0) return 0;
  const auto n = x.size(-1);
  if (n != 1 && x.stride(-1) != 1) return 0;
  std::int64_t distance = 0, rows = 1;
  for (auto i = x.dim() - 2; i >= 0; --i) {
    if (x.size(i) == 1) continue;
    if (distance == 0) distance = x.stride(i);
    if (x.stride(i) != distance * rows) return 0;
    rows *= x.size(i);
  }
  return distance == 0 ? n : distance >= n ? distance : 0;
}

// Gate and up as a device's kernel takes them: rows at one distance in both, as pieces of one product have them.
struct GatedRows {
  Tensor gate, up;
  std::int64_t rows = 1, n, distance;
  GatedRows(const Tensor& of_gate, const Tensor& of_up)
      : gate(of_gate), up(of_up), n(gate.numel()), distance(n) {
    if (gate.is_contiguous() && up.is_contiguous()) return;
    const auto apart = distance_of_rows(gate);
    if (apart == 0 || distance_of_rows(up) != apart) {
      gate = gate.contiguous();
      up = up.contiguous();
      return;
    }
    n = gate.size(-1);
    rows = gate.numel() / n;
    distance = apart;
  }
};

// bf16 as it is, else fp32; not made contiguous.
Tensor strided_operand(const Tensor& x) { return x.scalar_type() == at::kBFloat16 ? x : cast(x, at::kFloat); }

Tensor gated_on_device(Activation f, const Tensor& gate, const Tensor& up) {
  const GatedRows x(strided_operand(gate), strided_operand(up));
  Tensor y = new_beside(x.gate, gate.sizes());
  recorded_kernels(gate).gated.forward(f, kernel_type(y), x.rows, x.n, x.gate.const_data_ptr(),
                                       x.up.const_data_ptr(), x.distance, y.mutable_data_ptr(),
                                       largest_beside(y), stream_of(gate));
  return y;
}

// Gradients beside each other where gate and up are.
std::pair<Tensor, Tensor> gated_gradients_on_device(Activation f, const Tensor& gate, const Tensor& up,
                                                    const Tensor& dy) {
  const GatedRows x(strided_operand(gate), strided_operand(up));
  const bool joined = x.rows > 1 && joined_view({x.gate, x.up}, -1).defined();
  auto sizes = gate.sizes().vec();
  Tensor dgate, dup;
  float* largest = nullptr;
  if (joined) {
    sizes.back() *= 2;
    const Tensor both = new_beside(x.gate, sizes);
    largest = largest_beside(both);
    dgate = both.narrow(-1, 0, x.n);
    dup = both.narrow(-1, x.n, x.n);
  } else {
    dgate = new_beside(x.gate, sizes);
    dup = new_beside(x.gate, sizes);
  }
  recorded_kernels(gate).gated.backward(f, kernel_type(dy), x.rows, x.n, x.gate.const_data_ptr(),
                                        x.up.const_data_ptr(), x.distance, dy.const_data_ptr(),
                                        dgate.mutable_data_ptr(), dup.mutable_data_ptr(),
                                        joined ? 2 * x.n : x.n, largest, stream_of(gate));
  return {dgate, dup};
}

struct Gated : torch::autograd::Function<Gated> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up, std::int64_t f) {
    const auto function = static_cast<Activation>(f);
    ctx->save_for_backward({gate, up});
    ctx->saved_data["f"] = f;
    if (!gate.is_cpu()) return cast(gated_on_device(function, gate, up), gate.scalar_type());
    auto g = kernel_operand(gate), u = kernel_operand(up), y = new_beside(g, gate.sizes());
    kernels::gated(function, y.numel(), values(g), values(u), results(y));
    return cast(y, gate.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    const auto dtype = saved[0].scalar_type();
    const auto f = static_cast<Activation>(ctx->saved_data["f"].toInt());
    auto dy = kernel_operand(grads[0]);
    if (!saved[0].is_cpu()) {
      const auto [dgate, dup] = gated_gradients_on_device(f, saved[0], saved[1], dy);
      return {cast(dgate, dtype), cast(dup, dtype), Tensor()};
    }
    auto g = kernel_operand(saved[0]), u = kernel_operand(saved[1]);
    auto dg = new_beside(g, g.sizes()), du = new_beside(g, g.sizes());
    kernels::gated_backward(f, g.numel(), values(g), values(u), values(dy), results(dg), results(du));
    return {cast(dg, dtype), cast(du, dtype), Tensor()};
  }
};

}  // namespace

Tensor activate(Activation f, const Tensor& x) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.activate.forward; });
  return kernel ? Activate::apply(x, static_cast<std::int64_t>(f)) : plain::activate(f, x);
}

Tensor gated(Activation f, const Tensor& gate, const Tensor& up) {
  const bool alike = gate.is_cpu() || gate.scalar_type() == up.scalar_type();
  const bool kernel = alike && goes_to_kernel(gate, [](const DeviceKernels& k) { return k.gated.forward; });
  return kernel ? Gated::apply(gate, up, static_cast<std::int64_t>(f)) : plain::gated(f, gate, up);
}

}  // namespace bora::core::autograd
