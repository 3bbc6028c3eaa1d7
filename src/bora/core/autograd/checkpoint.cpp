// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/checkpoint.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "bora/core/autograd/recording_scope.h"
#include "bora/core/autograd/rest.h"
#include "bora/core/grad.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/node.h"

namespace bora::core {

constinit thread_local bool in_unrecorded_run = false;

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Body = std::function<std::vector<Array>(std::span<const Array>)>;

struct SharedBody : torch::CustomClassHolder {
  explicit SharedBody(Body b) : body(std::move(b)) {}
  Body body;
  bool plain = plain_ops();
  std::vector<Layout> inputs, outputs;   // outputs: of the last run
  std::shared_ptr<autograd::Rest> rest;  // of its inputs, if they have one
};

variable_list run(SharedBody& shared, const variable_list& inputs) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) arrays.emplace_back(new Node(inputs[i], shared.inputs[i]));
  variable_list out;
  shared.outputs.clear();
  for (const auto& a : shared.body(arrays)) {
    out.push_back(tensor(a));
    shared.outputs.push_back(a.node()->layout);
  }
  return out;
}

class UnrecordedRun {
 public:
  explicit UnrecordedRun(bool on) : before_(std::exchange(in_unrecorded_run, on)) {}
  ~UnrecordedRun() { in_unrecorded_run = before_; }
  UnrecordedRun(const UnrecordedRun&) = delete;
  UnrecordedRun& operator=(const UnrecordedRun&) = delete;

 private:
  bool before_;
};

// The first input is a scalar that requires a gradient, so that the body is recorded even where only
// parameters that it reaches by itself do.
struct Checkpoint : torch::autograd::Function<Checkpoint> {
  static variable_list forward(AutogradContext* ctx, const Tensor& anchor, at::TensorList inputs,
                               const c10::intrusive_ptr<SharedBody>& body) {
    (void)anchor;
    ctx->save_for_backward(body->rest ? body->rest->staying(inputs.vec()) : inputs.vec());
    ctx->saved_data["body"] = c10::IValue::make_capsule(body);
    const UnrecordedRun scope(true);
    return run(*body, inputs.vec());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto body = c10::static_intrusive_pointer_cast<SharedBody>(ctx->saved_data["body"].toCapsule());
    variable_list inputs, all_saved = ctx->get_saved_variables();
    if (body->rest) body->rest->bring(all_saved);
    for (auto& saved : all_saved) {
      auto x = saved.detach();
      x.set_requires_grad(saved.requires_grad());
      inputs.push_back(x);
      saved.reset();
    }
    variable_list outputs, output_grads;
    {
      at::AutoGradMode record(true);
      const UnrecordedRun scope(false);
      const PlainOpsScope as_before(body->plain);
      auto all = run(*body, inputs);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].requires_grad() || !grads[i].defined()) continue;
        outputs.push_back(all[i]);
        output_grads.push_back(grads[i]);
      }
      if (!outputs.empty()) torch::autograd::backward(outputs, output_grads);
    }
    variable_list result{Tensor()};
    for (const auto& x : inputs) result.push_back(x.grad());
    result.emplace_back();
    return result;
  }
};

std::vector<Array> checkpointed(
    const Body& f, std::span<const Array> inputs,
    const std::function<std::shared_ptr<autograd::Rest>(const variable_list&)>& rest) {
  // what runs again is recorded for one derivative only
  if (!recording() || records_twice()) return f(inputs);
  variable_list tensors;
  auto shared = c10::make_intrusive<SharedBody>(f);
  for (const auto& a : inputs) {
    tensors.push_back(tensor(a));
    shared->inputs.push_back(a.node()->layout);
  }
  if (rest) shared->rest = rest(tensors);
  auto anchor = at::_ops::zeros::call({}, at::kFloat, {}, {}, {}).set_requires_grad(true);
  std::vector<Array> out;
  const auto results = Checkpoint::apply(anchor, at::TensorList(tensors), shared);
  for (std::size_t i = 0; i < results.size(); ++i) out.emplace_back(new Node(results[i], shared->outputs[i]));
  return out;
}

}  // namespace

std::vector<Array> checkpoint(const Body& f, std::span<const Array> inputs) {
  return checkpointed(f, inputs, {});
}

std::vector<Array> checkpoint(const Body& f, std::span<const Array> inputs, Offload& rest) {
  const bool last = --rest.left_ <= 0;
  return checkpointed(f, inputs, [&](const variable_list& tensors) {
    rest.last_ = std::make_shared<autograd::Rest>(tensors, std::move(rest.last_), last);
    return rest.last_;
  });
}

}  // namespace bora::core
