// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/recording_scope.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like_ops.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>

#include "bora/base/error.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {
enum class Recording { none, once, twice };
thread_local Recording recorded_now = Recording::none;

void check_parameters(std::string_view who, std::span<Array* const> parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]->empty()) {
      fail(ErrorKind::InvalidArgument, "{}: parameter {} of {} is empty (it was never given a value)", who, i,
           parameters.size());
    }
    const DType dtype = parameters[i]->dtype();
    if (is_floating(dtype)) continue;
    fail(ErrorKind::InvalidArgument, "{}: parameter {} of {} holds {}, which has no gradient", who, i,
         parameters.size(), name(dtype));
  }
}
}  // namespace

bool recording() { return recorded_now != Recording::none && at::GradMode::is_enabled(); }
bool records_twice() { return recorded_now == Recording::twice; }

RecordingScope::RecordingScope(std::string_view who, std::span<Array* const> parameters,
                               std::span<Array> into, bool twice)
    : parameters_(parameters),
      grad_mode_before_(at::GradMode::is_enabled()),
      threads_before_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
  if (recorded_now != Recording::none) {  // its backward pass would be no part of what the outer one records
    fail(ErrorKind::Unsupported,
         "{}: called inside a function that is being differentiated; the result would count as a constant "
         "there\nhint: take the inner gradients before, outside of that function; products with second "
         "derivatives are core::hessian_vector_product",
         who);
  }
  check_parameters(who, parameters);
  at::GradMode::set_enabled(true);
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  recorded_now = twice ? Recording::twice : Recording::once;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor t = tensor(*parameters[i]);
    t.set_requires_grad(true);
    t.mutable_grad() = into.empty() || into[i].empty() ? at::Tensor() : tensor(into[i]);
  }
}

RecordingScope::~RecordingScope() {
  recorded_now = Recording::none;
  for (auto* p : parameters_) {
    at::Tensor t = tensor(*p);
    t.mutable_grad() = at::Tensor();
    t.set_requires_grad(false);
  }
  c10::AutogradState::get_tls_state().set_multithreading_enabled(threads_before_);
  at::GradMode::set_enabled(grad_mode_before_);
}

Array RecordingScope::gradient(std::size_t i) const {
  const auto& t = tensor(*parameters_[i]);
  if (!t.grad().defined()) return wrap(at::_ops::zeros_like::call(t.detach(), {}, {}, {}, {}, {}));
  return wrap(t.grad().contiguous());
}

bool RecordingScope::reached(std::size_t i) const { return tensor(*parameters_[i]).grad().defined(); }

Array scalar_of(const std::function<Array()>& f) {
  Array value = f();
  if (value.rank() == 0) value = whole({value, {}});
  if (value.numel() != 1) {
    fail(ErrorKind::InvalidArgument,
         "value_and_grad: the function must return a scalar but returned {} elements\nhint: sum or mean over "
         "all axes",
         value.numel());
  }
  return value;
}

}  // namespace bora::core
