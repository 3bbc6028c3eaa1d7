// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/root_gradient.h"

#include <utility>

namespace bora::core::autograd {
namespace {

thread_local const at::Tensor* root = nullptr;

}  // namespace

RootGradient::RootGradient(const at::Tensor& one) : one_(one), before_(std::exchange(root, &one_)) {}
RootGradient::~RootGradient() { root = before_; }

bool RootGradient::is(const at::Tensor& gradient) {
  return root != nullptr && gradient.defined() && gradient.scalar_type() == root->scalar_type() &&
         gradient.numel() == 1 && gradient.const_data_ptr() == root->const_data_ptr();
}

}  // namespace bora::core::autograd
