// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// libtorch's two ops of FlashAttention, as its part for CUDA has them: what they take, and what they refuse. Each score
// is computed in fp32 one by one, and results are rounded once.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bora/core/attention_library.h"
#include "bora/core/device.h"
#include "fake_device.h"
#include "graph.h"
#include "kernels.h"
#include "noted_op.h"

namespace bora::fake_device {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using MaybeInt = std::optional<std::int64_t>;

// What the kernels would read wrongly, or the op refuses.
void require_taken(const Tensor& x, const Tensor& q) {
  TORCH_CHECK(x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf,
              "flash: neither bf16 nor fp16");
  TORCH_CHECK(x.scalar_type() == q.scalar_type(), "flash: two types");
  const auto last = x.dim() - 1;
  TORCH_CHECK(x.stride(last) == 1, "flash: the last dimension is not contiguous");
  TORCH_CHECK(x.size(last) % 8 == 0 && x.size(last) <= 256, "flash: the size of a head");
  TORCH_CHECK(reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0,
              "flash: no address of 16 bytes");
  for (std::int64_t i = 0; i < last; ++i)
    TORCH_CHECK(x.size(i) == 1 || x.stride(i) % 8 == 0, "flash: rows that are no packs of 16 bytes");
}

// The elements of an array on the device, in fp32 on the host, as [position of all, head, dim].
std::vector<float> numbers_of(const Tensor& x) {
  const Tensor here = at::from_blob(shadow(x.const_data_ptr()), x.sizes(), x.strides(),
                                    at::TensorOptions().dtype(x.scalar_type()).device(at::kCPU));
  const Tensor wide = here.to(at::kFloat).contiguous();
  return {wide.const_data_ptr<float>(), wide.const_data_ptr<float>() + wide.numel()};
}
void put(const std::vector<float>& from, const Tensor& x) {
  const Tensor there = at::from_blob(shadow(x.mutable_data_ptr()), x.sizes(), x.strides(),
                                     at::TensorOptions().dtype(x.scalar_type()).device(at::kCPU));
  there.copy_(
      at::from_blob(const_cast<float*>(from.data()), x.sizes(), at::TensorOptions().dtype(at::kFloat)));
}

// Where sequences begin in q and k, and how long they are.
struct Sequence {
  std::int64_t first_q, queries, first_k, keys;
};
std::vector<Sequence> sequences_of(const Tensor& q, const Tensor& k, const Tensor& starts_q,
                                   const Tensor& starts_k, std::int64_t most_q, std::int64_t most_k) {
  std::vector<Sequence> out;
  if (!starts_q.defined()) {
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && q.size(0) == k.size(0),
                "flash: [batch, position, head, dim]");
    for (std::int64_t i = 0; i < q.size(0); ++i)
      out.push_back({i * q.size(1), q.size(1), i * k.size(1), k.size(1)});
    return out;
  }
  TORCH_CHECK(q.dim() == 3 && k.dim() == 3, "flash: [position, head, dim] of documents");
  for (const Tensor* starts : {&starts_q, &starts_k}) {
    TORCH_CHECK(starts->scalar_type() == at::kInt && starts->is_contiguous() && starts->dim() == 1 &&
                    starts->device() == q.device() && starts->numel() == starts_q.numel(),
                "flash: where documents begin");
  }
  const auto* a = static_cast<const std::int32_t*>(shadow(starts_q.const_data_ptr()));
  const auto* b = static_cast<const std::int32_t*>(shadow(starts_k.const_data_ptr()));
  std::int64_t longest_q = 0, longest_k = 0;
  for (std::int64_t i = 0; i + 1 < starts_q.numel(); ++i) {
    out.push_back({a[i], a[i + 1] - a[i], b[i], b[i + 1] - b[i]});
    longest_q = std::max(longest_q, out.back().queries);
    longest_k = std::max(longest_k, out.back().keys);
  }
  TORCH_CHECK(longest_q <= most_q && longest_k <= most_k, "flash: a document longer than was said");
  TORCH_CHECK(out.back().first_q + out.back().queries == q.size(0), "flash: positions of no document");
  return out;
}

// The keys [first, last) that query i of a sequence sees: the last query stands at the last key.
struct Seen {
  std::int64_t first, last;
};
Seen seen(const Sequence& s, std::int64_t i, bool causal, MaybeInt left, MaybeInt right) {
  const std::int64_t at = i + s.keys - s.queries;
  if (causal) right = 0;
  return {left && *left >= 0 ? std::clamp<std::int64_t>(at - *left, 0, s.keys) : 0,
          right && *right >= 0 ? std::clamp<std::int64_t>(at + *right + 1, 0, s.keys) : s.keys};
}

struct FlashHeads {
  std::int64_t heads, kv_heads, dim;
  std::int64_t query(std::int64_t position, std::int64_t h) const { return (position * heads + h) * dim; }
  std::int64_t key(std::int64_t position, std::int64_t h) const {
    return (position * kv_heads + h / (heads / kv_heads)) * dim;
  }
};
FlashHeads heads_of(const Tensor& q, const Tensor& k) {
  TORCH_CHECK(q.size(-2) % k.size(-2) == 0, "flash: heads that do not share keys");
  return {q.size(-2), k.size(-2), q.size(-1)};
}
float dot(const float* a, const float* b, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Where the log of a sum stands: [batch, head, position], or [head, position] of documents.
std::int64_t lse_at(bool apart, const FlashHeads& h, const Sequence& s, std::int64_t total, std::int64_t head,
                    std::int64_t i) {
  return apart ? head * total + s.first_q + i : (s.first_q / s.queries * h.heads + head) * s.queries + i;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> flash_forward(
    const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& starts_q,
    const MaybeTensor& starts_k, std::int64_t most_q, std::int64_t most_k, double dropout, bool causal,
    bool /*debug*/, std::optional<double> scale, MaybeInt left, MaybeInt right, const MaybeTensor& used,
    const MaybeTensor& slopes) {
  computed("aten::_flash_attention_forward");
  for (const Tensor* x : {&q, &k, &v}) require_taken(*x, q);
  TORCH_CHECK(dropout == 0 && !used && !slopes, "flash: not here");
  const bool apart = starts_q.has_value();
  const auto sequences =
      sequences_of(q, k, starts_q.value_or(Tensor()), starts_k.value_or(Tensor()), most_q, most_k);
  const FlashHeads h = heads_of(q, k);
  const auto queries = numbers_of(q), keys = numbers_of(k), values = numbers_of(v);
  const std::int64_t total = q.numel() / (h.heads * h.dim);
  std::vector<float> out(queries.size()), lse(static_cast<std::size_t>(total * h.heads));
  const auto factor = static_cast<float>(scale.value_or(1 / std::sqrt(static_cast<double>(h.dim))));
  for (const auto& s : sequences) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const auto [first, last] = seen(s, i, causal, left, right);
      for (std::int64_t head = 0; head < h.heads; ++head) {
        const auto from = h.query(s.first_q + i, head);
        std::vector<float> scores;
        float most = -std::numeric_limits<float>::infinity(), sum = 0;
        for (auto j = first; j < last; ++j) {
          scores.push_back(factor * dot(&queries[from], &keys[h.key(s.first_k + j, head)], h.dim));
          most = std::max(most, scores.back());
        }
        for (float& x : scores) sum += x = std::exp(x - most);
        for (auto j = first; j < last; ++j)
          for (std::int64_t d = 0; d < h.dim; ++d)
            out[from + d] += scores[j - first] / sum * values[h.key(s.first_k + j, head) + d];
        lse[lse_at(apart, h, s, total, head, i)] =
            scores.empty() ? std::numeric_limits<float>::infinity() : most + std::log(sum);
      }
    }
  }
  const Tensor result = at::empty_like(q);
  const Tensor logs = apart ? at::empty({h.heads, total}, q.options().dtype(at::kFloat))
                            : at::empty({q.size(0), h.heads, q.size(1)}, q.options().dtype(at::kFloat));
  put(out, result);
  put(lse, logs);
  const auto numbers = q.options().dtype(at::kLong);
  return {result, logs, at::empty({2}, numbers), at::empty({}, numbers), at::empty({0}, q.options())};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& dout, const Tensor& q, const Tensor& k,
                                                  const Tensor& v, const Tensor& out, const Tensor& lse,
                                                  const Tensor& starts_q, const Tensor& starts_k,
                                                  std::int64_t most_q, std::int64_t most_k, double dropout,
                                                  bool causal, const Tensor& rng, const Tensor& unused,
                                                  std::optional<double> scale, MaybeInt left,
                                                  MaybeInt right) {
  computed("aten::_flash_attention_backward");
  for (const Tensor* x : {&q, &k, &v, &out, &dout}) require_taken(*x, q);
  TORCH_CHECK(dropout == 0 && rng.defined() && unused.defined(), "flash: not here");
  TORCH_CHECK(lse.is_contiguous() && lse.scalar_type() == at::kFloat,
              "flash: logs that are read as they lie");
  const auto& context = at::globalContext();
  TORCH_CHECK(
      launching() || (context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly()),
      "flash: a backward pass whose bits are chance");
  const bool apart = starts_q.defined();
  const auto sequences = sequences_of(q, k, starts_q, starts_k, most_q, most_k);
  const FlashHeads h = heads_of(q, k);
  const auto queries = numbers_of(q), keys = numbers_of(k), values = numbers_of(v), results = numbers_of(out),
             gradients = numbers_of(dout), logs = numbers_of(lse);
  const std::int64_t total = q.numel() / (h.heads * h.dim);
  std::vector<float> dq(queries.size()), dk(keys.size()), dv(keys.size());
  const auto factor = static_cast<float>(scale.value_or(1 / std::sqrt(static_cast<double>(h.dim))));
  for (const auto& s : sequences) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const auto [first, last] = seen(s, i, causal, left, right);
      for (std::int64_t head = 0; head < h.heads; ++head) {
        const auto from = h.query(s.first_q + i, head);
        const float log = logs[lse_at(apart, h, s, total, head, i)],
                    own = dot(&gradients[from], &results[from], h.dim);
        for (auto j = first; j < last; ++j) {
          const auto at = h.key(s.first_k + j, head);
          const float p = std::exp(factor * dot(&queries[from], &keys[at], h.dim) - log),
                      ds = factor * p * (dot(&gradients[from], &values[at], h.dim) - own);
          for (std::int64_t d = 0; d < h.dim; ++d) {
            dq[from + d] += ds * keys[at + d];
            dk[at + d] += ds * queries[from + d];
            dv[at + d] += p * gradients[from + d];
          }
        }
      }
    }
  }
  if (h.heads != h.kv_heads) {  // the op has them for each head of queries, and adds
    computed("aten::sum");
    computed("aten::sum");
  }
  const Tensor of_q = at::empty_like(q), of_k = at::empty_like(k), of_v = at::empty_like(v);
  put(dq, of_q);
  put(dk, of_k);
  put(dv, of_v);
  return {of_q, of_k, of_v};
}

std::unique_ptr<torch::Library> flash_ops;
core::AttentionLibrary stood_back;

}  // namespace

// A GPU has them itself, and its library stands back.
AttentionBy::AttentionBy(Attention how) {
  if (const auto type = core::default_device().type; type == core::Device::Type::cuda) {
    stood_back = core::attention_library(type);
    if (how != Attention::library) core::register_attention_library(type, {});
    return;
  }
  take_attention(how == Attention::kernels);
  bring_attention_library(how == Attention::library);
  if (how != Attention::flash && how != Attention::library) return;
  flash_ops = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1,
                                               __FILE__, __LINE__);
  flash_ops->impl("_flash_attention_forward", TORCH_FN(NotedOp<flash_forward>::call));
  flash_ops->impl("_flash_attention_backward", TORCH_FN(NotedOp<flash_backward>::call));
}
AttentionBy::~AttentionBy() {
  if (const auto type = core::default_device().type; type == core::Device::Type::cuda) {
    core::register_attention_library(type, stood_back);
    return;
  }
  take_attention(true);
  bring_attention_library(false);
  flash_ops.reset();
}

}  // namespace bora::fake_device
