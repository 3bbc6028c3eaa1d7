// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grad.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "bora/base/error.h"
#include "bora/core/layout/layout.h"

namespace bora::core {

namespace {
thread_local int scopes = 0;
}  // namespace

bool recording() { return scopes > 0 && at::GradMode::is_enabled(); }

namespace {

// While it lives, operations on these parameters are recorded and their gradients go to `into` (or to new
// arrays).
class RecordingScope {
 public:
  RecordingScope(std::span<Array* const> parameters, std::span<Array> into);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  // The gradient of parameter i after the backward pass; zeros if the result did not depend on it.
  Array gradient(std::size_t i) const;

 private:
  std::span<Array* const> parameters_;
  bool before_;
};

RecordingScope::RecordingScope(std::span<Array* const> parameters, std::span<Array> into)
    : parameters_(parameters) {
  before_ = at::GradMode::is_enabled();
  at::GradMode::set_enabled(true);
  ++scopes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor t = tensor(*parameters[i]);
    t.set_requires_grad(true);
    t.mutable_grad() = into.empty() || into[i].empty() ? at::Tensor() : tensor(into[i]);
  }
}

RecordingScope::~RecordingScope() {
  --scopes;
  for (auto* p : parameters_) {
    at::Tensor t = tensor(*p);
    t.mutable_grad() = at::Tensor();
    t.set_requires_grad(false);
  }
  at::GradMode::set_enabled(before_);
}

Array RecordingScope::gradient(std::size_t i) const {
  const auto& t = tensor(*parameters_[i]);
  if (!t.grad().defined()) return wrap(at::_ops::zeros_like::call(t.detach(), {}, {}, {}, {}, {}));
  return wrap(t.grad().contiguous());
}

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

Array pull_back(const Array& value) {
  const auto& loss = tensor(value);
  if (loss.requires_grad()) torch::autograd::backward({loss}, {});
  return wrap(loss.detach());
}

// Hands a leaf's gradient on when autograd has added it up.
class Streaming final : public torch::autograd::PostAccumulateGradHook {
 public:
  Streaming(std::size_t index, const std::function<void(std::size_t, Array)>& take)
      : index_(index), take_(take) {}
  void operator()(const at::Tensor& leaf) override {
    if (taken_) {
      fail(ErrorKind::InvalidArgument,
           "stream_gradients: parameter {} gets its gradient in parts\nhint: it is used in two blocks that "
           "gradient checkpointing computes again; turn gradient_checkpointing off",
           index_);
    }
    taken_ = true;
    Array gradient = wrap(leaf.grad().contiguous());
    leaf.mutable_grad() = at::Tensor();
    take_(index_, std::move(gradient));
  }

 private:
  std::size_t index_;
  const std::function<void(std::size_t, Array)>& take_;
  bool taken_ = false;
};

class StreamingScope {
 public:
  StreamingScope(std::span<Array* const> parameters, const std::function<void(std::size_t, Array)>& take)
      : parameters_(parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      torch::autograd::impl::set_post_acc_grad_hooks(tensor(*parameters[i]),
                                                     std::make_unique<Streaming>(i, take));
    }
  }
  ~StreamingScope() {
    for (auto* p : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(tensor(*p), nullptr);
  }
  StreamingScope(const StreamingScope&) = delete;
  StreamingScope& operator=(const StreamingScope&) = delete;

 private:
  std::span<Array* const> parameters_;
};

}  // namespace

Array stream_gradients(std::span<Array* const> parameters, const std::function<Array()>& f,
                       const std::function<void(std::size_t, Array)>& take) {
  const RecordingScope recording_scope(parameters, {});
  const StreamingScope streaming(parameters, take);
  return pull_back(scalar_of(f));
}

Array accumulate_gradients(std::span<Array* const> parameters, const std::function<Array()>& f,
                           std::span<Array> into) {
  if (into.size() != parameters.size()) {
    fail(ErrorKind::InvalidArgument, "accumulate_gradients: {} parameters but {} places for gradients",
         parameters.size(), into.size());
  }
  RecordingScope scope(parameters, into);
  Array value = pull_back(scalar_of(f));
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = scope.gradient(i);
  return value;
}

ValueAndGrad value_and_grad(std::span<Array* const> parameters, const std::function<Array()>& f) {
  ValueAndGrad out;
  out.gradients.resize(parameters.size());
  out.value = accumulate_gradients(parameters, f, out.gradients);
  return out;
}

Array stop_gradient(const Array& x) {
  if (x.empty())
    fail(ErrorKind::InvalidArgument, "stop_gradient: the array is empty (it was never given a value)");
  return labelled_as(x, tensor(x).detach());
}

}  // namespace bora::core
