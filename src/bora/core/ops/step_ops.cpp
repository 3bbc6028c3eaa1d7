// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/step_ops.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/plain/step_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

// Of one size and device, fp32 and contiguous.
void require_alike(std::string_view op, std::initializer_list<const Array*> arrays) {
  const Array& first = **arrays.begin();
  for (const Array* x : arrays) {
    if (x->numel() != first.numel() || device_of(*x) != device_of(first)) {
      fail(ErrorKind::InvalidArgument, "{}: {} elements on {} beside {} on {}", op, first.numel(),
           name(device_of(first)), x->numel(), name(device_of(*x)));
    }
    if (x->dtype() == DType::f32 && tensor(*x).is_contiguous()) continue;
    fail(ErrorKind::InvalidArgument, "{}: {} of {}{}; it takes contiguous arrays of f32", op,
         describe(Operand{*x, {}}), name(x->dtype()), tensor(*x).is_contiguous() ? "" : ", not contiguous");
  }
}

// Every op has one branch of three: the CPU's kernel, the device's, the plain op.
enum class By { cpu_kernel, device_kernel, plain };

// Of arrays that are alike; `entry`: of their device's kernels.
template <class Entry>
By checked(std::string_view op, Entry DeviceKernels::*entry, std::initializer_list<const Array*> arrays) {
  require_alike(op, arrays);
  const at::Tensor& first = tensor(**arrays.begin());
  if (!autograd::is_plain(first)) return By::cpu_kernel;
  return device_kernels(first).*entry != nullptr ? By::device_kernel : By::plain;
}

const float* values(const Array& x) { return tensor(x).const_data_ptr<float>(); }
float* room(const Array& x) { return tensor(x).mutable_data_ptr<float>(); }

}  // namespace

void adamw(const kernels::AdamW& step, Array& parameter, const Array& gradient, Array& mean,
           Array& square) try {
  const at::Tensor& p = tensor(parameter);
  switch (checked("adamw", &DeviceKernels::adamw, {&parameter, &gradient, &mean, &square})) {
    case By::cpu_kernel:
      return kernels::adamw(p.numel(), step, room(parameter), values(gradient), room(mean), room(square));
    case By::device_kernel:
      return device_kernels(p).adamw(p.numel(), step, room(parameter), values(gradient), room(mean),
                                     room(square), stream_of(p));
    case By::plain:
      return plain::adamw(step, p.detach(), tensor(gradient), tensor(mean), tensor(square));
  }
} catch (...) {
  rethrow("adamw", {Operand{parameter, {}}, Operand{gradient, {}}});
}

void add_into(Array& into, const Array& from) try {
  const at::Tensor& x = tensor(into);
  switch (checked("add_into", &DeviceKernels::add_into, {&into, &from})) {
    case By::cpu_kernel:
      return kernels::add_into(x.numel(), room(into), values(from));
    case By::device_kernel:
      return device_kernels(x).add_into(x.numel(), room(into), values(from), stream_of(x));
    case By::plain:
      x.detach().add_(tensor(from).view(x.sizes()));
  }
} catch (...) {
  rethrow("add_into", {Operand{into, {}}, Operand{from, {}}});
}

void add_scaled(Array& into, float factor, const Array& from, float keep) try {
  if (factor == 0 && keep == 1) return;
  require_alike("add_scaled", {&into, &from});
  if (autograd::is_plain(tensor(into))) {
    tensor(into).detach().mul_(keep).add_(tensor(from).view(tensor(into).sizes()), factor);
    return;
  }
  float* x = room(into);
  const float* y = values(from);
  kernels::for_chunks(into.numel(), kernels::reduce_chunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) x[i] = keep * x[i] + factor * y[i];
  });
} catch (...) {
  rethrow("add_scaled", {Operand{into, {}}, Operand{from, {}}});
}

Array max_abs(const Array& x) try {
  const at::Tensor& t = tensor(x);
  switch (checked("max_abs", &DeviceKernels::max_abs, {&x})) {
    case By::cpu_kernel:
      return wrap(at::scalar_tensor(kernels::max_abs(t.numel(), values(x)), at::kFloat));
    case By::device_kernel: {
      at::Tensor out = at::zeros({}, t.options());
      device_kernels(t).max_abs(t.numel(), values(x), out.mutable_data_ptr<float>(), stream_of(t));
      return wrap(std::move(out));
    }
    case By::plain:
      break;
  }
  return wrap(plain::max_abs(t));
} catch (...) {
  rethrow("max_abs", {Operand{x, {}}});
}

Array square_numbers(const Array& x, const Array& largest) try {
  const at::Tensor& t = tensor(x);
  const auto by = checked("square_numbers", &DeviceKernels::square_numbers, {&x});
  if (by == By::plain) return wrap(plain::square_numbers(t, tensor(largest)));
  at::Tensor out = at::zeros({4}, t.options().dtype(at::kDouble));
  if (by == By::device_kernel) {
    device_kernels(t).square_numbers(t.numel(), values(x), values(largest), out.mutable_data_ptr<double>(),
                                     stream_of(t));
    return wrap(std::move(out));
  }
  const float most = *values(largest);
  if (!std::isfinite(most)) return wrap(out);
  kernels::SquareSum sum(most);
  sum.add(x.numel(), values(x));
  const auto numbers = sum.numbers();
  std::copy(numbers.begin(), numbers.end(), out.mutable_data_ptr<double>());
  return wrap(std::move(out));
} catch (...) {
  rethrow("square_numbers", {Operand{x, {}}, Operand{largest, {}}});
}

double sum_of_squares(double largest, std::span<const double> numbers) {
  if (!std::isfinite(largest)) return largest;
  kernels::SquareSum sum(static_cast<float>(largest));
  kernels::SquareSum::Numbers added{};
  std::copy_n(numbers.begin(), added.size(), added.begin());
  sum.add(added);
  return sum.value();
}

std::int64_t first_non_finite(const Array& x) try {
  if (stored(x) != nullptr) return -1;  // else it would not be kept
  require_alike("first_non_finite", {&x});
  return autograd::is_plain(tensor(x)) ? plain::first_non_finite(tensor(x))
                                       : kernels::first_non_finite(x.numel(), values(x));
} catch (...) {
  rethrow("first_non_finite", {Operand{x, {}}});
}

}  // namespace bora::core
