// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/cast.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/empty_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <unordered_map>
#include <vector>

#include "bora/core/cast_once.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {

// By the memory of the parameter, which has them alive.
struct CastOnceScope::Copies {
  struct Copy {
    at::Tensor parameter, copy;
    bool is_matrix = false;
  };
  std::unordered_map<const c10::StorageImpl*, Copy> of;
  std::vector<Copy*> in_order;  // of the parameters
};

namespace {
constexpr std::int64_t kPack = 8;  // elements at whose multiples copies begin, as kernels read them
thread_local CastOnceScope::Copies* kept = nullptr;
}  // namespace

CastOnceScope::CastOnceScope(std::span<const Parameter> parameters)
    : copies_(std::make_unique<Copies>()), before_(kept) {
  for (const auto& p : parameters) {
    const auto& x = tensor(*p.array);
    auto& copy = copies_->of[x.storage().unsafeGetStorageImpl()];
    if (!copy.parameter.defined()) copies_->in_order.push_back(&copy);
    copy.parameter = x;
    copy.is_matrix = x.dim() > 1 && p.role != Role::bias;
  }
  kept = copies_.get();
}
CastOnceScope::~CastOnceScope() { kept = before_; }

namespace autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// torch copies such arrays on the calling thread alone.
Tensor converted(const Tensor& x, at::ScalarType type) {
  const bool widens = x.scalar_type() == at::kBFloat16 && type == at::kFloat;
  const bool narrows = x.scalar_type() == at::kFloat && type == at::kBFloat16;
  if (!(widens || narrows) || !x.device().is_cpu() || !x.is_non_overlapping_and_dense()) return x.to(type);
  Tensor y = at::_ops::empty_like::call(x, type, {}, {}, {}, at::MemoryFormat::Preserve);
  if (widens) {
    kernels::from_bf16(x.numel(), static_cast<const std::uint16_t*>(x.const_data_ptr()),
                       y.mutable_data_ptr<float>());
  } else {
    kernels::to_bf16(x.numel(), x.const_data_ptr<float>(), static_cast<std::uint16_t*>(y.mutable_data_ptr()));
  }
  return y;
}

// Where the copy of a parameter is kept; null of anything else.
Tensor* place_of_copy(const Tensor& x, at::ScalarType type) {
  if (kept == nullptr || x.scalar_type() != at::kFloat || c10::elementSize(type) >= sizeof(float) ||
      !at::isFloatingType(type))
    return nullptr;
  const auto found = kept->of.find(x.storage().unsafeGetStorageImpl());
  if (found == kept->of.end()) return nullptr;
  Tensor &parameter = found->second.parameter, &copy = found->second.copy;
  // a part of the parameter lies in the same memory
  const bool whole = x.storage_offset() == parameter.storage_offset() && x.sizes() == parameter.sizes() &&
                     x.strides() == parameter.strides() && x.is_non_overlapping_and_dense();
  return !whole || (copy.defined() && copy.scalar_type() != type) ? nullptr : &copy;
}

bool joins_flat_copy(const Tensor& x, const Tensor& parameter) {
  return parameter.device() == x.device() && parameter.scalar_type() == at::kFloat && parameter.numel() > 0 &&
         parameter.is_contiguous() && parameter.has_storage() && parameter.storage().nbytes() > 0;
}

// On a device all parameters' copies are made at once, when the first is asked for. They lie one behind the other,
// matrices before biases and vectors, so that the weights of maps of one input are one matrix where no gap is between them.
void copy_all(const Tensor& x) {
  std::vector<CastOnceScope::Copies::Copy*> all;
  for (const bool matrices : {true, false}) {
    for (auto* copy : kept->in_order)
      if (copy->is_matrix == matrices && joins_flat_copy(x, copy->parameter)) all.push_back(copy);
  }
  const auto padded = [](std::int64_t n) { return (n + kPack - 1) / kPack * kPack; };
  std::int64_t total = 0;
  for (const auto* copy : all) total += padded(copy->parameter.numel());
  const Tensor flat = at::_ops::empty_memory_format::call({total}, at::kBFloat16, {}, x.device(), {}, {});
  std::vector<kernels::Narrowed> list;
  std::int64_t first = 0;
  for (auto* copy : all) {
    const Tensor parameter = copy->parameter.detach();
    const auto n = parameter.numel();
    copy->copy = flat.narrow(0, first, n).view(parameter.sizes());
    list.push_back({n, parameter.const_data_ptr<float>(), copy->copy.mutable_data_ptr()});
    first += padded(n);
  }
  device_kernels(x).narrow(std::ssize(list), list.data(), stream_of(x));
}

Tensor converted_once(const Tensor& x, at::ScalarType type) {
  Tensor* copy = place_of_copy(x, type);
  if (copy == nullptr) return converted(x, type);
  if (!copy->defined() && type == at::kBFloat16 && joins_flat_copy(x, x) && !plain_ops() &&
      device_kernels(x).narrow != nullptr)
    copy_all(x.detach());
  if (!copy->defined()) *copy = converted(x, type).detach();
  return copy->detach();
}

struct Cast : torch::autograd::Function<Cast> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, at::ScalarType type) {
    ctx->saved_data["type"] = static_cast<std::int64_t>(x.scalar_type());
    return converted_once(x, type);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {cast(grads[0], static_cast<at::ScalarType>(ctx->saved_data["type"].toInt())), Tensor()};
  }
};

}  // namespace

Tensor cast(const Tensor& x, at::ScalarType type) {
  if (x.scalar_type() == type) return x;
  if (is_plain(x) && place_of_copy(x, type) == nullptr) return x.to(type);
  const bool recorded = at::GradMode::is_enabled() && x.requires_grad() && at::isFloatingType(type);
  return recorded ? Cast::apply(x, type) : converted_once(x, type);
}

bool is_plain(const Tensor& x) { return !x.device().is_cpu() || plain_ops(); }

bool on_a_device(const Tensor& x) {
  return !x.device().is_cpu() && !plain_ops() && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

bool has_kernel(const Tensor& x) {
  return !is_plain(x) && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

}  // namespace autograd
}  // namespace bora::core
