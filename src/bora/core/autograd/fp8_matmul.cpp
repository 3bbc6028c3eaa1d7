// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/fp8_matmul.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_mm_ops.h>
#include <ATen/ops/empty_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <atomic>
#include <utility>

#include "bora/base/log.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/joint_pieces.h"
#include "bora/core/autograd/largest.h"
#include "bora/core/fp8.h"
#include "bora/core/plain/fp8.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {
thread_local bool fp8_now = false;
}  // namespace

Fp8Scope::Fp8Scope(bool on) : before_(std::exchange(fp8_now, on)) {}
Fp8Scope::~Fp8Scope() { fp8_now = before_; }
bool in_fp8() { return fp8_now; }

namespace autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;
using Narrow8 = plain::Narrow8;

constexpr std::int64_t kFp8Pack = 16;  // sizes are its multiples

Tensor room_for(c10::IntArrayRef sizes, at::ScalarType type, const Tensor& like) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), type, {}, like.device(), {},
                                             {});
}

// x [rows, n] as it lies (`straight`), turned, or both.
Narrow8 quantized(const Tensor& x, Fp8 format, bool straight, bool turned) {
  const auto& kernels = recorded_kernels(x).narrow8;
  if (kernels.quantize == nullptr) return plain::quantize(x, format);
  const Tensor from = x.contiguous();
  const auto type = format == Fp8::e4m3 ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
  const auto rows = x.size(0), n = x.size(1);
  Tensor largest = known_largest(from);
  const bool known = largest.defined();
  if (!known) largest = zero_number(x);
  Narrow8 out{straight ? room_for({rows, n}, type, x) : Tensor(),
              turned ? room_for({n, rows}, type, x) : Tensor(), room_for({1}, at::kFloat, x)};
  const auto dtype = from_scalar_type(x.scalar_type());
  if (!known)
    kernels.max_abs(dtype, from.numel(), from.const_data_ptr(), largest.mutable_data_ptr<float>(),
                    stream_of(x));
  kernels.quantize(dtype, format, rows, n, from.const_data_ptr(), largest.const_data_ptr<float>(),
                   straight ? out.y.mutable_data_ptr() : nullptr,
                   turned ? out.turned.mutable_data_ptr() : nullptr, out.inverse.mutable_data_ptr<float>(),
                   stream_of(x));
  return out;
}

// left [m, k] times the turned right [n, k]: the one way in which GPUs multiply fp8.
Tensor scaled_product(const Tensor& left, const Tensor& left_inverse, const Tensor& right,
                      const Tensor& right_inverse, const Maybe& bias, at::ScalarType type) {
  return at::_ops::_scaled_mm::call(left, right.t(), left_inverse, right_inverse, bias, {}, type, false);
}

struct Fp8Matmul : torch::autograd::Function<Fp8Matmul> {
  static variable_list forward(AutogradContext* ctx, const Tensor& a, at::TensorList differentiated,
                               std::int64_t count, const Tensor& weight, const Maybe& bias, bool recorded) {
    const auto x = quantized(a, Fp8::e4m3, true, recorded), w = quantized(weight, Fp8::e4m3, true, recorded);
    if (recorded) ctx->save_for_backward({x.turned, x.inverse, w.turned, w.inverse});
    const JointPieces maps(differentiated, count);
    maps.save(*ctx);
    ctx->saved_data["type"] = static_cast<std::int64_t>(a.scalar_type());
    return maps.results(scaled_product(x.y, x.inverse, w.y, w.inverse, bias, a.scalar_type()));
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x_turned = saved[0], &x_inverse = saved[1], &w_turned = saved[2], &w_inverse = saved[3];
    const Tensor g = joined_gradient(grads);
    const JointPieces maps(*ctx);
    const bool of_a = ctx->needs_input_grad(0), of_weights = maps.any_weight(*ctx);
    const auto dy = of_a || of_weights ? quantized(g, Fp8::e5m2, of_a, of_weights) : Narrow8();
    auto out = maps.gradients(
        *ctx, 5,
        [&](at::ScalarType type) {
          return scaled_product(dy.turned, dy.inverse, x_turned, x_inverse, {}, type);
        },
        [&](at::ScalarType type) { return over_rows(type, g); });
    if (of_a)
      out[0] = scaled_product(dy.y, dy.inverse, w_turned, w_inverse, {},
                              static_cast<at::ScalarType>(ctx->saved_data["type"].toInt()));
    return out;
  }
};

// Once.
void tell_of_sizes(const Tensor& a, const Tensor& weight) {
  static std::atomic<bool> told = false;
  if (told.exchange(true)) return;
  log_info(
      "a product of {} rows from {} to {} elements stays in bf16, as those of other such sizes: in fp8 all are multiples "
      "of 16",
      a.size(0), weight.size(1), weight.size(0));
}

}  // namespace

bool takes_fp8(const Tensor& a, const Tensor& weight) {
  if (!fp8_now || !on_a_device(a) || a.dim() != 2 || a.scalar_type() != at::kBFloat16 ||
      weight.scalar_type() != at::kBFloat16)
    return false;
  const bool fits = a.size(0) % kFp8Pack == 0 && a.size(1) % kFp8Pack == 0 && weight.size(0) % kFp8Pack == 0;
  if (!fits) tell_of_sizes(a, weight);
  return fits && a.numel() > 0 && weight.numel() > 0;
}

std::vector<Tensor> fp8_product(const Tensor& a, at::TensorList differentiated, std::int64_t count,
                                const Tensor& weight, const Maybe& bias) {
  bool recorded = a.requires_grad();
  for (const auto& x : differentiated) recorded = recorded || x.requires_grad();
  return Fp8Matmul::apply(a, differentiated, count, weight, bias, recorded && at::GradMode::is_enabled());
}

}  // namespace autograd
}  // namespace bora::core
