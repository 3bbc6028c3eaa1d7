// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/added_gradients.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bora/core/layout/layout.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

std::int64_t bytes_of_floats(const Array& x) { return x.numel() * std::int64_t{sizeof(float)}; }

class Taking final : public torch::autograd::PostAccumulateGradHook {
 public:
  Taking(std::size_t parameter, AddedGradients& taker) : parameter_(parameter), taker_(taker) {}
  void operator()(const at::Tensor& leaf) override {
    Array gradient = wrap(leaf.grad().contiguous());
    leaf.mutable_grad() = at::Tensor();
    taker_.take(parameter_, std::move(gradient));
  }

 private:
  std::size_t parameter_;
  AddedGradients& taker_;
};

}  // namespace

bool AddedGradients::suits(std::span<const Array> into) {
  return !into.empty() && std::ranges::none_of(into, [](const Array& x) {
    return x.empty() || tensor(x).is_cpu() || device_kernels(tensor(x)).add_into == nullptr;
  });
}

AddedGradients::AddedGradients(std::span<Array* const> parameters, const GradientPlaces& into)
    : parameters_(parameters), into_(into.arrays), stores_(into.arrays.size(), into.store) {
  std::int64_t all = 0;
  for (const auto& x : into_) all += bytes_of_floats(x);
  most_ = most_waiting_gradients(all);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(tensor(*parameters[i]),
                                                   std::make_unique<Taking>(i, *this));
}
AddedGradients::~AddedGradients() {
  for (auto* p : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(tensor(*p), nullptr);
}

void AddedGradients::take(std::size_t parameter, Array gradient) {
  if (std::ranges::find(places_, parameter) != places_.end()) add_waiting();
  bytes_ += bytes_of_floats(gradient);
  waiting_.push_back(std::move(gradient));
  places_.push_back(parameter);
  if (bytes_ > most_) add_waiting();
}

void AddedGradients::finish() {
  add_waiting();
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (stores_[i]) tensor(into_[i]).detach().zero_();
  }
}

void AddedGradients::add_waiting() {
  std::vector<Addition> all;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    all.push_back({&into_[places_[i]], &waiting_[i], stores_[places_[i]]});
    stores_[places_[i]] = false;
  }
  add_into(all);
  waiting_.clear();
  places_.clear();
  bytes_ = 0;
}

}  // namespace bora::core
