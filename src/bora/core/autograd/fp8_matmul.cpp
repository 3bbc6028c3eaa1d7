// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/fp8_matmul.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_mm_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <atomic>
#include <utility>

#include "bora/base/log.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/joint_pieces.h"
#include "bora/core/autograd/largest.h"
#include "bora/core/fp8.h"
#include "bora/core/layout/convert.h"
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

// Found once, by the node behind the products.
struct GradientLargest : torch::CustomClassHolder {
  at::Tensor largest;
};
struct WholeLargest {
  at::Tensor a, weight;  // [1]
  c10::intrusive_ptr<GradientLargest> gradient;
};

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

// Its largest |element|, NaN where one is not finite: of each of its parts, if they have been told apart [parts].
Tensor largest_in(const Tensor& x) {
  if (Tensor known = known_largest(x); known.defined()) return known;
  const auto& kernels = recorded_kernels(x).narrow8;
  if (kernels.quantize == nullptr) return plain::largest(x);
  if (Tensor known = largest_of_copies(x); known.defined()) return known;
  const Tensor from = x.contiguous();
  Tensor largest = zero_number(x);
  kernels.max_abs(from_scalar_type(x.scalar_type()), from.numel(), from.const_data_ptr(),
                  largest.mutable_data_ptr<float>(), stream_of(x));
  return largest;
}

// x [rows, n], scaled by `largest`, as it lies (`straight`), turned, or both.
Narrow8 quantized(const Tensor& x, const Tensor& largest, Fp8 format, bool straight, bool turned) {
  const auto& kernels = recorded_kernels(x).narrow8;
  if (kernels.quantize == nullptr) return plain::quantize(x, format, largest);
  const Tensor from = x.contiguous();
  const auto type = format == Fp8::e4m3 ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
  const auto rows = x.size(0), n = x.size(1);
  Narrow8 out{straight ? room_for({rows, n}, type, x) : Tensor(),
              turned ? room_for({n, rows}, type, x) : Tensor(), room_for({1}, at::kFloat, x)};
  kernels.quantize(
      from_scalar_type(x.scalar_type()), format, rows, n, from.const_data_ptr(),
      largest.const_data_ptr<float>(), largest.numel(), straight ? out.y.mutable_data_ptr() : nullptr,
      turned ? out.turned.mutable_data_ptr() : nullptr, out.inverse.mutable_data_ptr<float>(), stream_of(x));
  return out;
}

// As bits, whose order is that of the numbers, and of which NaN is the largest.
Tensor over_workers(Tensor largest, std::span<Collectives* const> workers) {
  for (auto* all : workers)
    largest = reduced(largest.view(at::kInt), Collectives::Combine::max, *all).view(at::kFloat);
  return largest;
}

Tensor largest_of_all(const Shards& x) {
  const auto of_parts = [](const Tensor& parts) {
    return parts.numel() == 1 ? parts : at::_ops::amax::call(parts, at::IntArrayRef{0}, true);
  };
  Tensor largest = of_parts(largest_in(x.here.front()));
  for (const auto& more : x.here.subspan(1))
    largest = at::_ops::maximum::call(largest, of_parts(largest_in(more)));
  return over_workers(largest, x.workers);
}

// left [m, k] times the turned right [n, k]: the one way in which GPUs multiply fp8.
Tensor scaled_product(const Tensor& left, const Tensor& left_inverse, const Tensor& right,
                      const Tensor& right_inverse, const Maybe& bias, at::ScalarType type) {
  return at::_ops::_scaled_mm::call(left, right.t(), left_inverse, right_inverse, bias, {}, type, false);
}

c10::IValue capsule(const c10::intrusive_ptr<GradientLargest>& gradient) {
  return c10::IValue::make_capsule(gradient);
}
GradientLargest* gradient_of(AutogradContext& ctx) {
  const auto found = ctx.saved_data.find("gradient");
  return found == ctx.saved_data.end() ? nullptr
                                       : static_cast<GradientLargest*>(found->second.toCapsule().get());
}

struct Measured : torch::autograd::Function<Measured> {
  static Tensor forward(AutogradContext* ctx, const Tensor& y,
                        const c10::intrusive_ptr<GradientLargest>& gradient,
                        const std::vector<std::int64_t>& workers) {
    ctx->saved_data["gradient"] = capsule(gradient);
    ctx->saved_data["workers"] = workers;
    return y.view(y.sizes());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    std::vector<Collectives*> workers;
    for (const auto w : ctx->saved_data["workers"].toIntVector())
      workers.push_back(reinterpret_cast<Collectives*>(  // NOLINT: kept as a number by the context
          static_cast<std::intptr_t>(w)));
    gradient_of(*ctx)->largest = over_workers(largest_in(grads[0]), workers);
    return {grads[0], Tensor(), Tensor()};
  }
};

struct Fp8Matmul : torch::autograd::Function<Fp8Matmul> {
  static variable_list forward(AutogradContext* ctx, const Tensor& a, at::TensorList differentiated,
                               std::int64_t count, const Tensor& weight, const Maybe& bias, bool recorded,
                               const WholeLargest* whole) {
    const auto x = quantized(a, whole == nullptr ? largest_in(a) : whole->a, Fp8::e4m3, true, recorded),
               w = quantized(weight, whole == nullptr ? largest_in(weight) : whole->weight, Fp8::e4m3, true,
                             recorded);
    if (whole != nullptr) ctx->saved_data["gradient"] = capsule(whole->gradient);
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
    const auto* whole = gradient_of(*ctx);
    const auto dy = of_a || of_weights ? quantized(g, whole == nullptr ? largest_in(g) : whole->largest,
                                                   Fp8::e5m2, of_a, of_weights)
                                       : Narrow8();
    auto out = maps.gradients(
        *ctx, 6,
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

std::shared_ptr<const WholeLargest> whole_largest(const Shards& a, const Shards& weight) {
  return std::make_shared<WholeLargest>(
      WholeLargest{largest_of_all(a), largest_of_all(weight), c10::make_intrusive<GradientLargest>()});
}

Tensor measured(const Tensor& y, const WholeLargest& whole, std::span<Collectives* const> workers) {
  if (!y.requires_grad() || !at::GradMode::is_enabled()) return y;
  std::vector<std::int64_t> places;
  for (auto* w : workers) places.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(w)));
  return Measured::apply(y, whole.gradient, places);
}

std::vector<Tensor> fp8_product(const Tensor& a, at::TensorList differentiated, std::int64_t count,
                                const Tensor& weight, const Maybe& bias, const WholeLargest* whole) {
  bool recorded = a.requires_grad();
  for (const auto& x : differentiated) recorded = recorded || x.requires_grad();
  return Fp8Matmul::apply(a, differentiated, count, weight, bias, recorded && at::GradMode::is_enabled(),
                          whole);
}

}  // namespace autograd
}  // namespace bora::core
