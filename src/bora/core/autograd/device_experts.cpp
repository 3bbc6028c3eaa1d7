// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/device_experts.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_grouped_mm_ops.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/searchsorted.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/packs.h"
#include "bora/core/autograd/recording_scope.h"
#include "bora/core/cuda_facts.h"
#include "bora/core/plain/grouped.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows, and the groups of a product over them, begin at multiples of kPack.
constexpr std::int64_t kMostGroups = 1023;

bool has_grouped_op(const Tensor& x) {
  using Op = at::_ops::_grouped_mm;
  static const auto op = c10::Dispatcher::singleton().findSchema({Op::name, Op::overload_name});
  const auto key = x.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::PrivateUse1;
  return op && op->hasKernelForDispatchKey(key);
}

// Where libtorch has kernels for it; on other GPUs the op itself is a loop, and waits.
bool has_grouped_kernel(const Tensor& x) {
  if (!x.is_cuda()) return true;
  const auto& gpus = cuda_facts().gpus;
  const std::size_t at = static_cast<std::uint8_t>(x.get_device());
  return at < gpus.size() && (gpus[at].capability.major == 9 || gpus[at].capability.major == 10);
}

bool is_aligned(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0; }

// As the op takes it: contiguous, and at a multiple of 16 bytes.
Tensor as_op_takes_rows(const Tensor& x) {
  const Tensor y = x.contiguous();
  return is_aligned(y) ? y : y.clone();
}

Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& ends) {
  return at::_ops::_grouped_mm::call(a, b, ends, {}, {});
}

struct GroupedByEnds : torch::autograd::Function<GroupedByEnds> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& values,
                        const Tensor& ends) {
    const Tensor rows = as_op_takes_rows(x), w = as_op_takes_rows(values);
    ctx->save_for_backward({rows, w, ends});
    ctx->saved_data["type"] = static_cast<std::int64_t>(weight.scalar_type());
    return grouped_mm(rows, w.transpose(1, 2), ends);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &w = saved[1], &ends = saved[2], g = as_op_takes_rows(grads[0]);
    Tensor dx, dw;
    if (ctx->needs_input_grad(1)) {
      const auto type = static_cast<at::ScalarType>(ctx->saved_data["type"].toInt());
      dw = grouped_mm(g.t(), x, ends).to(type);
    }
    if (ctx->needs_input_grad(0)) dx = grouped_mm(g, w, ends);
    return {dx, dw, Tensor(), Tensor()};
  }
};

Tensor tokens_of(const Tensor& visits, std::int64_t k) { return k == 1 ? visits : visits.floor_divide(k); }

// x [tokens, width] -> [tokens, k, width], of the token's slots.
Tensor of_visits(const Tensor& slots, const Tensor& place) {
  return slots.index_select(0, place.reshape({-1})).view({place.size(0), place.size(1), slots.size(1)});
}

struct PaddedDispatch : torch::autograd::Function<PaddedDispatch> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& place, const Tensor& visits,
                        const Tensor& pads) {
    ctx->saved_data["place"] = place;
    return x.index_select(0, tokens_of(visits, place.size(1))).index_fill_(0, pads, 0);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor place = ctx->saved_data["place"].toTensor();
    const Tensor dx = of_visits(grads[0], place).sum(at::IntArrayRef{1}, false, at::kFloat);
    return {dx.to(grads[0].scalar_type()), Tensor(), Tensor(), Tensor()};
  }
};

struct PaddedCombine : torch::autograd::Function<PaddedCombine> {
  static Tensor forward(AutogradContext* ctx, const Tensor& y, const Tensor& weights, const Tensor& place,
                        const Tensor& visits, const Tensor& pads) {
    ctx->save_for_backward({y, weights});
    ctx->saved_data["place"] = place;
    ctx->saved_data["visits"] = visits;
    ctx->saved_data["pads"] = pads;
    const Tensor weighted = of_visits(y, place).to(at::kFloat).mul_(weights.to(at::kFloat).unsqueeze(-1));
    return weighted.sum(1).to(y.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &y = saved[0], &weights = saved[1], &g = grads[0];
    const Tensor place = ctx->saved_data["place"].toTensor(), visits = ctx->saved_data["visits"].toTensor(),
                 pads = ctx->saved_data["pads"].toTensor();
    Tensor dy, dw;
    if (ctx->needs_input_grad(0)) {
      const Tensor w = weights.to(at::kFloat).reshape({-1}).index_select(0, visits).unsqueeze(-1);
      dy = g.index_select(0, tokens_of(visits, place.size(1))).to(at::kFloat).mul_(w).to(y.scalar_type());
      dy.index_fill_(0, pads, 0);
    }
    if (ctx->needs_input_grad(1)) {
      const Tensor products = of_visits(y, place).to(at::kFloat).mul_(g.to(at::kFloat).unsqueeze(1));
      dw = products.sum(-1).to(weights.scalar_type());
    }
    return {dy, dw, Tensor(), Tensor(), Tensor()};
  }
};

Tensor numbers_beside(const Tensor& x, std::int64_t n, at::ScalarType type = at::kInt) {
  return at::_ops::empty_memory_format::call({n}, type, {}, x.device(), {}, {});
}

SlotPlan planned_by_kernel(const Tensor& choices, std::int64_t experts) {
  const Tensor from = choices.contiguous();
  const auto& kernels = device_kernels(from).slots;
  const std::int64_t n = from.numel(), room = kernels.room == nullptr ? 0 : kernels.room(n, experts);
  SlotPlan plan{.place = numbers_beside(from, n).view(from.sizes()),
                .rows = numbers_beside(from, experts),
                .ends = numbers_beside(from, experts),
                .visits = numbers_beside(from, n + kPack * experts),
                .pads = numbers_beside(from, kPack * experts, at::kLong)};
  const auto at = [](const Tensor& x) { return x.mutable_data_ptr<std::int32_t>(); };
  kernels.plan(from_scalar_type(from.scalar_type()), n, experts, from.const_data_ptr(),
               {at(plan.place), at(plan.rows), at(plan.ends), at(plan.visits),
                plan.pads.mutable_data_ptr<std::int64_t>()},
               at(numbers_beside(from, room)), stream_of(from));
  return plan;
}

}  // namespace

std::string_view why_no_grouped_product(const Tensor& choices, at::ScalarType type, std::int64_t experts,
                                        const std::vector<std::int64_t>& widths) {
  if (type != at::kBFloat16) return "not in bf16";
  if (choices.numel() == 0) return "no tokens";
  if (experts > kMostGroups) return "more than 1023 of them";
  if (std::any_of(widths.begin(), widths.end(), [](auto n) { return n % kPack != 0; }))
    return "maps of a size that is no multiple of 8";
  if (records_twice()) return "a second derivative";
  if (!has_grouped_op(choices)) return "no such op in this libtorch";
  return has_grouped_kernel(choices) ? ""
                                     : "libtorch has the product of groups for capabilities 9 and 10 alone";
}

SlotPlan plan_slots(const Tensor& choices, std::int64_t experts) {
  if (device_kernels(choices).slots.plan != nullptr) return planned_by_kernel(choices, experts);
  const Tensor expert = choices.reshape({-1}).to(at::kLong);
  const std::int64_t n = expert.numel(), slots = n + kPack * experts;
  const auto count = [&](std::int64_t of) { return at::arange(of, expert.options()); };
  const auto owner = [](const Tensor& until, const Tensor& of) {
    return at::searchsorted(until, of, /*out_int32=*/false, /*right=*/true);
  };
  // of a permutation the inverse: the place of each in the order by expert
  const Tensor order = expert.argsort(/*stable=*/true, 0, /*descending=*/false);
  const Tensor until = owner(expert.index_select(0, order), count(experts));
  const Tensor rows = until.diff(1, 0, expert.new_zeros({1}));
  const Tensor room = rows.add(kPack - 1).floor_divide_(kPack).mul_(kPack).clamp_min_(kPack);
  const Tensor ends = room.cumsum(0), from = ends.sub(room);
  ends.narrow(0, experts - 1, 1).fill_(slots);
  const Tensor shift = from.sub(until).add_(rows);  // of an expert's slots, by the pads before them
  const Tensor place = order.argsort().add_(shift.index_select(0, expert));

  const Tensor slot = count(slots);
  const Tensor sorted = slot.sub(shift.index_select(0, owner(ends, slot))).clamp_(0, n - 1);
  const Tensor filled = from.add(rows), pads_of = ends.sub(filled), pads_until = pads_of.cumsum(0);
  const Tensor pad = count(kPack * experts), of = owner(pads_until, pad);
  const Tensor first = filled.sub(pads_until).add_(pads_of);
  return {.place = place.to(at::kInt).view(choices.sizes()),
          .rows = rows.to(at::kInt),
          .ends = ends.to(at::kInt),
          .visits = order.index_select(0, sorted).to(at::kInt),
          .pads = pad.add(first.index_select(0, of))};
}

Tensor padded_dispatch(const Tensor& x, const Tensor& place, const Tensor& visits, const Tensor& pads) {
  return PaddedDispatch::apply(x, place, visits, pads);
}

Tensor padded_combine(const Tensor& y, const Tensor& weights, const Tensor& place, const Tensor& visits,
                      const Tensor& pads) {
  return PaddedCombine::apply(y, weights, place, visits, pads);
}

Tensor owners_of_slots(const Tensor& ends, std::int64_t slots) {
  return at::searchsorted(ends, at::arange(slots, ends.options()), /*out_int32=*/true, /*right=*/true);
}

Tensor grouped_by_ends(const Tensor& x, const Factor& weight, const Tensor& ends) {
  const std::vector<std::int64_t> widths{weight.values.size(1), weight.values.size(2)};
  if (why_no_grouped_product(x, x.scalar_type(), ends.size(0), widths).empty())
    return GroupedByEnds::apply(x, differentiated(weight), weight.values.detach(), ends);
  const Tensor here = ends.to(at::kCPU);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t e = 0, before = 0; e < here.numel(); ++e) {
    const std::int64_t end = here.const_data_ptr<std::int32_t>()[e];
    rows.push_back({end - before});
    before = end;
  }
  return plain::grouped(x, weight.values, rows);
}

}  // namespace bora::core::autograd
