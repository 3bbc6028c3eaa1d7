// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: where the inputs of one body of an Offload (core/checkpoint.h) are from its forward to its backward pass.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bora/core/autograd/copier.h"

namespace bora::core::autograd {

class Rest {
 public:
  /// Begins to send what of `inputs` can go. `before`: of the body that ran before, whose arrays have gone now; `last`: no
  /// body comes after it, and nothing goes.
  Rest(const std::vector<at::Tensor>& inputs, std::shared_ptr<Rest> before, bool last);
  /// Waits for what is under way.
  ~Rest();
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;

  /// The inputs, undefined where they were sent.
  std::vector<at::Tensor> staying(std::vector<at::Tensor> inputs) const;
  /// Puts what was sent into its places, and begins to bring what the body before this one was given.
  void bring(std::vector<at::Tensor>& inputs);

 private:
  explicit Rest(std::shared_ptr<Rest> before);
  struct Sent {
    std::size_t index;  // among the inputs
    Copier* copier;
    Copier::Place place;
    std::vector<std::int64_t> sizes;
    at::TensorOptions options;
    bool requires_grad;
    at::Tensor here;  // while it is copied, either way
  };
  void let_go();  // of arrays that were copied out
  void begin_back();

  std::shared_ptr<Rest> before_;
  std::vector<const void*> inputs_;
  std::vector<Sent> sent_;
  bool coming_back_ = false;
};

}  // namespace bora::core::autograd
