// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grad.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like_ops.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "bora/base/error.h"
#include "bora/core/autograd/added_gradients.h"
#include "bora/core/autograd/recording_scope.h"
#include "bora/core/autograd/root_gradient.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {

namespace {

Array pull_back(const Array& value) try {
  const auto& loss = tensor(value);
  if (loss.requires_grad()) {
    const at::Tensor one = at::_ops::ones_like::call(loss, {}, {}, {}, {}, {});
    const autograd::RootGradient root(one);
    torch::autograd::backward({loss}, {one});
  }
  return wrap(loss.detach());
} catch (...) {
  rethrow("backward pass", {});
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
  const RecordingScope recording_scope("stream_gradients", parameters, {});
  const StreamingScope streaming(parameters, take);
  return pull_back(scalar_of(f));
}

Array accumulate_gradients(std::span<Array* const> parameters, const std::function<Array()>& f,
                           const GradientPlaces& into) {
  const auto places = into.arrays;
  if (places.size() != parameters.size()) {
    fail(ErrorKind::InvalidArgument, "accumulate_gradients: {} parameters but {} places for gradients",
         parameters.size(), places.size());
  }
  if (AddedGradients::suits(places)) {
    const RecordingScope scope("value_and_grad", parameters);
    AddedGradients added(parameters, into);
    Array value = pull_back(scalar_of(f));
    added.finish();
    return value;
  }
  if (into.store) {
    for (const auto& x : places)
      if (!x.empty()) tensor(x).detach().zero_();
  }
  RecordingScope scope("value_and_grad", parameters, places);
  Array value = pull_back(scalar_of(f));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = scope.gradient(i);
  return value;
}

ValueAndGrad value_and_grad(std::span<Array* const> parameters, const std::function<Array()>& f) {
  const RecordingScope scope("value_and_grad", parameters);
  ValueAndGrad out{pull_back(scalar_of(f)), {}, false};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    out.depends = out.depends || scope.reached(i);
    out.gradients.push_back(scope.gradient(i));
  }
  return out;
}

void fail_no_gradient(std::size_t parameters, std::string_view model) {
  if (parameters == 0) {
    fail(ErrorKind::InvalidArgument,
         "value_and_grad: no parameter of {} is trained\nhint: freeze fewer of them", model);
  }
  fail(ErrorKind::InvalidArgument,
       "value_and_grad: the loss does not depend on any of the {} trained parameters of {}\nhint: was "
       "the model copied or cast before? Compute the loss from the model that the function is given",
       parameters, model);
}

Array stop_gradient(const Array& x) {
  if (x.empty())
    fail(ErrorKind::InvalidArgument, "stop_gradient: the array is empty (it was never given a value)");
  return labelled_as(x, tensor(x).detach());
}

}  // namespace bora::core
