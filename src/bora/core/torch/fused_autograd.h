// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: fused operations with their own backward pass, on plain tensors. Bodies in *_autograd.cpp,
// apart from the rest because the autograd headers are slow to compile.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// Another type of elements, rounded to nearest even; the same layout.
at::Tensor cast(const at::Tensor& x, at::ScalarType type);

/// a [m, k] · b [k, n] (+ bias [n]), or with a leading batch dimension on both. Any strides.
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& bias);

/// x [rows, n]; weight, bias [n] or nothing.
at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight, double eps);
at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, double eps);

at::Tensor activate(kernels::Activation f, const at::Tensor& x);
at::Tensor gated(kernels::Activation f, const at::Tensor& gate, const at::Tensor& up);

/// x [batch, position, heads, dim]; cos, sin [position, half].
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

struct Segments {
  at::Tensor query, key;  ///< i32 [batch, positions], contiguous, or undefined
};
/// q [batch, position, kv head, group, dim], k and v [batch, key, kv head, dim].
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const kernels::AttentionRule& rule, const Segments& segments);

/// The same where queries, keys and values lie in equal blocks over the workers, of whom each gets the result
/// for its queries: blocks of keys and values come round the ring. k and v travel, and are kept for the
/// backward pass, as they are: f32, bf16 or f16. `rule.offset` is that of the first worker's queries;
/// `segments.key` are those of all keys.
at::Tensor ring_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const kernels::AttentionRule& rule, const Segments& segments, Collectives& workers);

struct CrossEntropyRule {
  double z_loss;
  std::int64_t chunk;
  std::int64_t vocab;              ///< of all workers
  std::int64_t first = 0;          ///< where this worker's rows of the head begin
  int lanes = 1;                   ///< equal blocks of this worker's rows, whose sums are added in pairs
  Collectives* workers = nullptr;  ///< who hold the rows together; null: all are here
};
/// hidden [positions, embed], head [vocab, embed], targets i32, weights f32: sum of weighted losses. The
/// gradient of `hidden` is this worker's part of a sum.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                                const at::Tensor& weights, const CrossEntropyRule& rule);

/// Runs on the CPU with fp32 kernels: fp32, or bf16 and fp16 by widening.
bool has_kernel(const at::Tensor& x);

}  // namespace bora::core::autograd
