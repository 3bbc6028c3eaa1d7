// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: the pass over a head where its arrays lie on a device that has a kernel for the losses.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "bora/core/autograd/cross_entropy.h"
#include "bora/core/autograd/kernel_operand.h"

namespace bora::core::autograd {

/// Whether losses of these states go to a kernel: the CPU's, or their device's.
inline bool has_head_kernel(const at::Tensor& hidden) {
  return goes_to_kernel(hidden, [](const DeviceKernels& k) { return k.cross_entropy; });
}

/// As HeadPass. Products are libtorch's: where states and head are bf16 so are the logits of a chunk and their
/// gradient, else all is fp32. The whole vocabulary is here.
struct DeviceHeadPass {
  at::Tensor hidden, head, bias, targets, weights;  ///< bias may be undefined
  CrossEntropyRule rule;
  bool gradient;
  at::Tensor losses = {}, lse = {};                 ///< [positions]: lse - logits[target], lse
  at::Tensor dhidden = {}, dhead = {}, dbias = {};  ///< dhidden of one lane; the others fp32
  std::int64_t vocab = 0;                           ///< of `head` without the zeros that run() puts behind it
  at::Tensor all_of_dhead = {};                     ///< dhead, and behind it zeros

  void run();

 private:
  void begin();
  void add_gradients(std::int64_t first, const at::Tensor& x, const at::Tensor& z);
};

}  // namespace bora::core::autograd
