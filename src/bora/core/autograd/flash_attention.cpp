// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/flash_attention.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_flash_attention_backward_ops.h>
#include <ATen/ops/_flash_attention_forward_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/packs.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kMostHeadDim = 256;

template <class Op>
bool has_op(c10::DispatchKey key) {
  static const auto op = c10::Dispatcher::singleton().findSchema({Op::name, Op::overload_name});
  return op && op->hasKernelForDispatchKey(key);
}
// A libtorch without the op, or a device without it, is found out here and not in the first step.
bool has_ops(const Tensor& x) {
  const auto key = x.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::PrivateUse1;
  return has_op<at::_ops::_flash_attention_forward>(key) && has_op<at::_ops::_flash_attention_backward>(key);
}

// The op's backward pass adds up the gradient of queries in a fixed order where this is set, for all threads: the first sets
// it, and the last leaves it as it was.
class FixedOrder {
 public:
  FixedOrder() {
    const std::lock_guard lock(state().mutex);
    if (state().users++ > 0) return;
    state().before = context_.deterministicAlgorithms();
    state().warned = context_.deterministicAlgorithmsWarnOnly();
    if (changes()) context_.setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
  ~FixedOrder() {
    const std::lock_guard lock(state().mutex);
    if (--state().users == 0 && changes())
      context_.setDeterministicAlgorithms(state().before, state().warned);
  }
  FixedOrder(const FixedOrder&) = delete;
  FixedOrder& operator=(const FixedOrder&) = delete;

 private:
  struct State {
    std::mutex mutex;
    int users = 0;
    bool before = false, warned = false;
  };
  static State& state() {
    static State all;
    return all;
  }
  static bool changes() { return !state().before || state().warned; }
  at::Context& context_ = at::globalContext();
};

// Keys that a query sees before its own.
std::optional<c10::SymInt> before(const kernels::AttentionRule& rule) {
  return rule.window > 0 ? std::optional<c10::SymInt>(rule.window - 1) : std::nullopt;
}

struct FlashAttention : torch::autograd::Function<FlashAttention> {
  static Tensor forward(AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const kernels::AttentionRule& rule, const Documents& documents) {
    const bool apart = documents.starts.defined();
    const Tensor q = as_flash_takes(query, apart), k = as_flash_takes(key, apart),
                 v = as_flash_takes(value, apart);
    const auto most_q = apart ? documents.longest : query.size(1), most_k = apart ? most_q : key.size(1);
    const auto result = flash_forward(q, k, v, {rule, documents.starts, documents.starts, most_q, most_k});
    ctx->save_for_backward({q, k, v, result.out, result.lse, documents.starts, result.seed, result.unused});
    keep(ctx, rule);
    ctx->saved_data["most_q"] = most_q;
    ctx->saved_data["most_k"] = most_k;
    ctx->saved_data["of_q"] = query.sizes();
    ctx->saved_data["of_k"] = key.sizes();
    return result.out.reshape(query.sizes());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto s = ctx->get_saved_variables();
    const FlashResult result{s[3], s[4], s[6], s[7]};
    const auto number = [&](const char* of) { return ctx->saved_data[of].toInt(); };
    const auto d = flash_backward(grads[0].reshape(result.out.sizes()), s[0], s[1], s[2], result,
                                  {kept_rule(ctx), s[5], s[5], number("most_q"), number("most_k")});
    const auto of_q = ctx->saved_data["of_q"].toIntVector(), of_k = ctx->saved_data["of_k"].toIntVector();
    return {d.q.reshape(of_q), d.k.reshape(of_k), d.v.reshape(of_k), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor as_flash_takes(const Tensor& x, bool of_documents) {
  const auto b = x.size(0), t = x.size(1), d = x.size(-1), h = x.numel() / (b * t * d);
  const Tensor y = of_documents ? x.reshape({b * t, h, d}) : x.reshape({b, t, h, d});
  return in_packs(y) ? y : y.contiguous();
}

FlashResult flash_forward(const Tensor& q, const Tensor& k, const Tensor& v, const FlashCall& call) {
  const auto result = at::_ops::_flash_attention_forward::call(
      q, k, v, if_any(call.starts_q), if_any(call.starts_k), call.most_q, call.most_k, /*dropout_p=*/0,
      call.rule.causal, /*return_debug_mask=*/false, static_cast<double>(call.rule.scale), before(call.rule),
      std::nullopt, {}, {});
  return {std::get<0>(result), std::get<1>(result), std::get<2>(result), std::get<3>(result)};
}

AttentionGradients flash_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const FlashResult& of, const FlashCall& call) {
  const FixedOrder fixed;
  auto d = at::_ops::_flash_attention_backward::call(
      dout.contiguous(), q, k, v, of.out, of.lse, call.starts_q, call.starts_k, call.most_q, call.most_k,
      /*dropout_p=*/0, call.rule.causal, of.seed, of.unused, static_cast<double>(call.rule.scale),
      before(call.rule), std::nullopt);
  return {std::move(std::get<0>(d)), std::move(std::get<1>(d)), std::move(std::get<2>(d))};
}

std::string_view why_not_in_one_pass(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                                     const RuleTensors& tensors) {
  const auto t = q.size(1), s = k.size(1), d = q.size(4);
  if (k.scalar_type() != q.scalar_type()) return "queries and keys of two types";
  if (d % kPack != 0 || d > kMostHeadDim) return "heads of a size that is no multiple of 8, or above 256";
  if (rule.soft_cap > 0) return "a soft cap";
  if (tensors.sinks.defined()) return "sinks";
  if (tensors.slopes.defined()) return "slopes (ALiBi)";
  if (tensors.query_segments.defined()) {
    if (tensors.documents == nullptr || rule.offset != 0 || t != s)
      return "segments that are not known beforehand, or not whole";
  } else if (q.numel() == 0 || k.numel() == 0 || rule.offset < 0 || (rule.causal && rule.offset + t > s) ||
             (!rule.causal && rule.window > 0 && rule.offset + t != s)) {
    return "queries that do not stand at the last keys";
  }
  return "";
}

std::string_view why_no_flash_attention(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                                        const RuleTensors& tensors) {
  if (q.scalar_type() != at::kBFloat16 && q.scalar_type() != at::kHalf) return "neither bf16 nor fp16";
  if (const auto why = why_not_in_one_pass(q, k, rule, tensors); !why.empty()) return why;
  return has_ops(q) ? "" : "no such op in this libtorch";
}

Tensor flash_attention(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                       const RuleTensors& tensors) {
  // The op has its last query at the last key: keys behind it, which nobody sees, are left out.
  const auto count = rule.causal ? rule.offset + q.size(1) : k.size(1);
  const auto seen = [&](const Tensor& x) { return count == x.size(1) ? x : x.narrow(1, 0, count); };
  const Documents documents = tensors.documents == nullptr ? Documents() : *tensors.documents;
  return FlashAttention::apply(q, seen(k), seen(v), rule, documents);
}

}  // namespace bora::core::autograd
