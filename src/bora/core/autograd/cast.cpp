// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/cast.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <unordered_map>

#include "bora/core/cast_once.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/node.h"

namespace bora::core {

// By the memory of the parameter, which has them alive.
struct CastOnceScope::Copies {
  struct Copy {
    at::Tensor parameter, copy;
  };
  std::unordered_map<const c10::StorageImpl*, Copy> of;
};

namespace {
thread_local CastOnceScope::Copies* kept = nullptr;
}  // namespace

CastOnceScope::CastOnceScope(std::span<const Parameter> parameters)
    : copies_(std::make_unique<Copies>()), before_(kept) {
  for (const auto& p : parameters) {
    const auto& x = tensor(*p.array);
    copies_->of[x.storage().unsafeGetStorageImpl()].parameter = x;
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
  auto& [parameter, copy] = found->second;
  // a part of the parameter lies in the same memory
  const bool whole = x.storage_offset() == parameter.storage_offset() && x.sizes() == parameter.sizes() &&
                     x.strides() == parameter.strides() && x.is_non_overlapping_and_dense();
  return !whole || (copy.defined() && copy.scalar_type() != type) ? nullptr : &copy;
}

Tensor converted_once(const Tensor& x, at::ScalarType type) {
  Tensor* copy = place_of_copy(x, type);
  if (copy == nullptr) return converted(x, type);
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

bool has_kernel(const Tensor& x) {
  return !is_plain(x) && (x.scalar_type() == at::kFloat || is_low_precision(x));
}

}  // namespace autograd
}  // namespace bora::core
