// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/step_ops.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/chance.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/plain/step_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/stored.h"

namespace bora::core {
namespace {

// Of one size and device, of one type and contiguous.
void require_alike(std::string_view op, std::initializer_list<const Array*> arrays,
                   DType dtype = DType::f32) {
  const Array& first = **arrays.begin();
  for (const Array* x : arrays) {
    if (x->numel() != first.numel() || device_of(*x) != device_of(first)) {
      fail(ErrorKind::InvalidArgument, "{}: {} elements on {} beside {} on {}", op, first.numel(),
           name(device_of(first)), x->numel(), name(device_of(*x)));
    }
    if (x->dtype() == dtype && tensor(*x).is_contiguous()) continue;
    fail(ErrorKind::InvalidArgument, "{}: {} of {}{}; it takes contiguous arrays of {}", op,
         describe(Operand{*x, {}}), name(x->dtype()), tensor(*x).is_contiguous() ? "" : ", not contiguous",
         name(dtype));
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
std::uint16_t* halves(const Array& x) {
  return reinterpret_cast<std::uint16_t*>(tensor(x).mutable_data_ptr<at::BFloat16>());
}

// Whether the kernel of one device takes all: then one call does.
template <class Entry, class Of>
bool by_one_kernel(Entry DeviceKernels::*entry, std::size_t count, const Of& array) {
  if (count == 0) return false;
  const at::Tensor& first = tensor(array(0));
  if (first.is_cpu() || device_kernels(first).*entry == nullptr) return false;
  for (std::size_t i = 1; i < count; ++i)
    if (tensor(array(i)).device() != first.device()) return false;
  return true;
}

}  // namespace

void adamw(const kernels::AdamW& step, Array& parameter, const Array& gradient, Array& mean,
           Array& square) try {
  const at::Tensor& p = tensor(parameter);
  switch (checked("adamw", &DeviceKernels::adamw, {&parameter, &gradient, &mean, &square})) {
    case By::cpu_kernel:
      return kernels::adamw(p.numel(), step, room(parameter), values(gradient), room(mean), room(square));
    case By::device_kernel:
      return adamw(step, std::array{AdamWArrays{parameter, gradient, mean, square, step.weight_decay}});
    case By::plain:
      return plain::adamw(step, p.detach(), tensor(gradient), tensor(mean), tensor(square));
  }
} catch (...) {
  rethrow("adamw", {Operand{parameter, {}}, Operand{gradient, {}}});
}

namespace {

void require_bf16_moments(const AdamWArrays& a) {
  require_alike("adamw", {&a.parameter, &a.gradient});
  require_alike("adamw", {&a.mean, &a.square}, DType::bf16);
  if (a.mean.numel() == a.parameter.numel() && device_of(a.mean) == device_of(a.parameter)) return;
  fail(ErrorKind::InvalidArgument, "adamw: {} elements on {} beside moments of {} on {}", a.parameter.numel(),
       name(device_of(a.parameter)), a.mean.numel(), name(device_of(a.mean)));
}

void adamw_bf16(const kernels::AdamW& step, const AdamWArrays& a) try {
  require_bf16_moments(a);
  kernels::AdamW own = step;
  own.weight_decay = a.weight_decay;
  const at::Tensor& p = tensor(a.parameter);
  if (autograd::is_plain(p))
    return plain::adamw(own, p.detach(), tensor(a.gradient), tensor(a.mean), tensor(a.square), *a.rounding);
  kernels::adamw(p.numel(), own, room(a.parameter), values(a.gradient), halves(a.mean), halves(a.square),
                 *a.rounding);
} catch (...) {
  rethrow("adamw", {Operand{a.parameter, {}}, Operand{a.gradient, {}}});
}

std::vector<at::Tensor> parameters_of(std::span<const AdamWArrays> arrays) {
  std::vector<at::Tensor> out;
  for (const auto& a : arrays) out.push_back(tensor(a.parameter));
  return out;
}

// Of each, with moments in bf16.
void adamw_bf16(const kernels::AdamW& step, std::span<const AdamWArrays> arrays) {
  const auto parameter = [&](std::size_t i) -> const Array& { return arrays[i].parameter; };
  if (!by_one_kernel(&DeviceKernels::adamw_bf16, arrays.size(), parameter)) {
    for (const auto& a : arrays) adamw_bf16(step, a);
    return;
  }
  for (const auto& a : arrays) require_bf16_moments(a);
  const auto copies = autograd::kept_copies_to_write(parameters_of(arrays));
  std::vector<kernels::SteppedBf16> list;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& a = arrays[i];
    list.push_back({a.parameter.numel(), room(a.parameter), values(a.gradient), halves(a.mean),
                    halves(a.square), a.weight_decay, copies[i].copy, *a.rounding, copies[i].largest});
  }
  const at::Tensor& first = tensor(arrays.front().parameter);
  device_kernels(first).adamw_bf16(step, std::ssize(list), list.data(), stream_of(first));
  for (std::size_t i = 0; i < list.size(); ++i)
    autograd::has_changed(tensor(arrays[i].parameter), list[i].copy != nullptr);
}

}  // namespace

void by_chance(Array& into, const Array& from, const kernels::Rounding& rounding) try {
  require_alike("by_chance", {&from});
  require_alike("by_chance", {&into}, DType::bf16);
  if (into.numel() != from.numel() || device_of(into) != device_of(from)) {
    fail(ErrorKind::InvalidArgument, "by_chance: {} elements on {} beside {} on {}", into.numel(),
         name(device_of(into)), from.numel(), name(device_of(from)));
  }
  if (autograd::is_plain(tensor(into)))
    return plain::by_chance(tensor(into), tensor(from), kernels::Half::low, rounding);
  kernels::by_chance(from.numel(), values(from), halves(into), kernels::Half::low, rounding);
} catch (...) {
  rethrow("by_chance", {Operand{into, {}}, Operand{from, {}}});
}

// All of one type of moments: an optimizer has one.
void adamw(const kernels::AdamW& step, std::span<const AdamWArrays> arrays) {
  if (!arrays.empty() && arrays.front().rounding != nullptr) return adamw_bf16(step, arrays);
  const auto parameter = [&](std::size_t i) -> const Array& { return arrays[i].parameter; };
  if (by_one_kernel(&DeviceKernels::adamw, arrays.size(), parameter)) {
    for (const auto& a : arrays) require_alike("adamw", {&a.parameter, &a.gradient, &a.mean, &a.square});
    const auto copies = autograd::kept_copies_to_write(parameters_of(arrays));
    std::vector<kernels::Stepped> list;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto& a = arrays[i];
      list.push_back({a.parameter.numel(), room(a.parameter), values(a.gradient), room(a.mean),
                      room(a.square), a.weight_decay, copies[i].copy, copies[i].largest});
    }
    const at::Tensor& first = tensor(arrays.front().parameter);
    device_kernels(first).adamw(step, std::ssize(list), list.data(), stream_of(first));
    for (std::size_t i = 0; i < list.size(); ++i)
      autograd::has_changed(tensor(arrays[i].parameter), list[i].copy != nullptr);
    return;
  }
  for (const auto& a : arrays) {
    kernels::AdamW own = step;
    own.weight_decay = a.weight_decay;
    adamw(own, a.parameter, a.gradient, a.mean, a.square);
  }
}

void add_into(std::span<const Addition> all) {
  const auto array = [&](std::size_t i) -> const Array& { return *all[i].into; };
  if (!by_one_kernel(&DeviceKernels::add_into, all.size(), array)) {
    for (const auto& a : all) {
      require_alike("add_into", {a.into, a.from});
      const at::Tensor& x = tensor(*a.into);
      a.stores ? void(x.detach().copy_(tensor(*a.from).view(x.sizes()))) : add_into(*a.into, *a.from);
    }
    return;
  }
  std::vector<kernels::Added> list;
  for (const auto& a : all) {
    require_alike("add_into", {a.into, a.from});
    list.push_back({a.into->numel(), room(*a.into), values(*a.from), a.stores});
  }
  const at::Tensor& first = tensor(*all.front().into);
  device_kernels(first).add_into(std::ssize(list), list.data(), stream_of(first));
}

std::optional<ManySquares> squares_of_many(std::span<const Array> arrays) {
  const auto array = [&](std::size_t i) -> const Array& { return arrays[i]; };
  if (!by_one_kernel(&DeviceKernels::max_abs, arrays.size(), array) ||
      !by_one_kernel(&DeviceKernels::square_numbers, arrays.size(), array))
    return std::nullopt;
  const at::Tensor& first = tensor(arrays.front());
  const auto count = std::ssize(arrays);
  const at::Tensor largest = at::zeros({count}, first.options()),
                   numbers = at::zeros({count, 4}, first.options().dtype(at::kDouble));
  std::vector<kernels::Measured> list;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    require_alike("square_numbers", {&arrays[i]});
    list.push_back({arrays[i].numel(), values(arrays[i]), largest.mutable_data_ptr<float>() + i,
                    numbers.mutable_data_ptr<double>() + 4 * i});
  }
  device_kernels(first).max_abs(count, list.data(), stream_of(first));
  device_kernels(first).square_numbers(count, list.data(), stream_of(first));
  return ManySquares{wrap(largest), wrap(numbers)};
}

void add_into(Array& into, const Array& from) try {
  const at::Tensor& x = tensor(into);
  switch (checked("add_into", &DeviceKernels::add_into, {&into, &from})) {
    case By::cpu_kernel:
      return kernels::add_into(x.numel(), room(into), values(from));
    case By::device_kernel:
      return add_into(std::array{Addition{&into, &from}});
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
      const kernels::Measured one{t.numel(), values(x), out.mutable_data_ptr<float>(), nullptr};
      device_kernels(t).max_abs(1, &one, stream_of(t));
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
    const kernels::Measured one{t.numel(), values(x), const_cast<float*>(values(largest)),
                                out.mutable_data_ptr<double>()};
    device_kernels(t).square_numbers(1, &one, stream_of(t));
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
