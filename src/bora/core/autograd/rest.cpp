// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/rest.h"

#include <ATen/ops/empty_ops.h>

#include <algorithm>
#include <utility>

#include "bora/base/error.h"

namespace bora::core::autograd {

using at::Tensor;

namespace {

// Numbers and rows stay: a copy costs more than they do.
bool can_go(const Tensor& x) {
  return x.defined() && x.dim() >= 2 && x.numel() > 0 && x.is_floating_point() && x.is_contiguous();
}

}  // namespace

Rest::Rest(std::shared_ptr<Rest> before) : before_(std::move(before)) {}

// By another one, so that it ends well where it fails.
Rest::Rest(const std::vector<Tensor>& inputs, std::shared_ptr<Rest> before, bool last)
    : Rest(std::move(before)) {
  if (before_) before_->let_go();
  for (const auto& x : inputs) inputs_.push_back(x.defined() ? x.const_data_ptr() : nullptr);
  if (last) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    const bool passes_through =
        before_ && std::ranges::find(before_->inputs_, inputs_[i]) != before_->inputs_.end();
    if (!can_go(x) || !Copier::is_there(x) || passes_through) continue;
    auto& copier = Copier::of(x);
    sent_.push_back({i, &copier, copier.take(static_cast<std::int64_t>(x.nbytes())), x.sizes().vec(),
                     x.options(), x.requires_grad(), x.detach()});
    copier.begin_out(x, sent_.back().place);
  }
}

Rest::~Rest() {
  for (auto& sent : sent_) {
    if (sent.here.defined()) sent.copier->try_to_wait(sent.here, sent.place);
    sent.copier->give_back(sent.place);
  }
}

std::vector<Tensor> Rest::staying(std::vector<Tensor> inputs) const {
  for (const auto& sent : sent_) inputs[sent.index] = Tensor();
  return inputs;
}

void Rest::let_go() {
  if (coming_back_) return;
  for (auto& sent : sent_) {
    if (!sent.here.defined()) continue;
    sent.copier->wait(sent.here, sent.place);
    sent.here.reset();
  }
}

void Rest::begin_back() {
  if (std::exchange(coming_back_, true)) return;
  for (auto& sent : sent_) {
    sent.here = at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sent.sizes),
                                                    sent.options.dtype().toScalarType(), {},
                                                    sent.options.device(), {}, {});
    sent.copier->begin_back(sent.here, sent.place);
  }
}

void Rest::bring(std::vector<Tensor>& inputs) {
  let_go();
  begin_back();
  for (auto& sent : sent_) {
    sent.copier->wait(sent.here, sent.place);
    sent.copier->give_back(sent.place);
    inputs[sent.index] = std::move(sent.here).set_requires_grad(sent.requires_grad);
  }
  sent_.clear();
  if (before_) {
    before_->let_go();
    before_->begin_back();
  }
  before_.reset();
}

}  // namespace bora::core::autograd
