// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/grad.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Body = std::function<std::vector<Array>(std::span<const Array>)>;

struct SharedBody : torch::CustomClassHolder {
  explicit SharedBody(Body b) : body(std::move(b)) {}
  Body body;
};

variable_list run(const Body& body, const variable_list& inputs) {
  std::vector<Array> arrays;
  for (const auto& t : inputs) arrays.push_back(wrap(t));
  variable_list out;
  for (const auto& a : body(arrays)) out.push_back(tensor(a));
  return out;
}

// The first input is a scalar that requires a gradient, so that the body is recorded even where only
// parameters that it reaches by itself do.
struct Checkpoint : torch::autograd::Function<Checkpoint> {
  static variable_list forward(AutogradContext* ctx, const Tensor& anchor, at::TensorList inputs,
                               const c10::intrusive_ptr<SharedBody>& body) {
    (void)anchor;
    ctx->save_for_backward(inputs.vec());
    ctx->saved_data["body"] = c10::IValue::make_capsule(body);
    return run(body->body, inputs.vec());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto body = c10::static_intrusive_pointer_cast<SharedBody>(ctx->saved_data["body"].toCapsule());
    variable_list inputs;
    for (const auto& saved : ctx->get_saved_variables()) {
      auto x = saved.detach();
      x.set_requires_grad(saved.requires_grad());
      inputs.push_back(x);
    }
    variable_list outputs, output_grads;
    {
      at::AutoGradMode record(true);
      auto all = run(body->body, inputs);
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

}  // namespace

std::vector<Array> checkpoint(const Body& f, std::span<const Array> inputs) {
  if (!recording()) return f(inputs);
  variable_list tensors;
  for (const auto& a : inputs) tensors.push_back(tensor(a));
  auto anchor = at::_ops::zeros::call({}, at::kFloat, {}, {}, {}).set_requires_grad(true);
  std::vector<Array> out;
  for (auto& t : Checkpoint::apply(anchor, at::TensorList(tensors), c10::make_intrusive<SharedBody>(f)))
    out.push_back(wrap(t));
  return out;
}

}  // namespace bora::core
