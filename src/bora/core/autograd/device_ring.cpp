// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The ring of ring_attention.cpp where kernels know of no blocks: each block of keys is attention of its own, and the results
// are joined (attention_joint.h). Backward they are given the result over all keys and its logs of sums, so that what they find
// is a block's part of the gradients.
#include "bora/core/autograd/device_ring.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/constant_pad_nd_ops.h>
#include <ATen/ops/zeros_like_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bora/core/autograd/attention_joint.h"
#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/flash_attention.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/library_attention.h"
#include "bora/core/autograd/ring.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A block of n keys as the kernels' own masks say it: the last query stands at the last key. In a window that ends within the
// block the first n - skip queries see the last n - skip keys, each from its own on; the others see none.
struct SeenOfBlock {
  kernels::AttentionRule rule;
  std::int64_t skip = 0;
};
SeenOfBlock seen_of_block(kernels::AttentionRule rule, std::int64_t queries_behind, std::int64_t n) {
  rule.offset = 0;
  if (queries_behind == 0) return {rule};
  rule.causal = false;
  const std::int64_t reach = rule.window - queries_behind;  // > 0: as a window would be
  const bool whole = rule.window == 0 || queries_behind < 0 || reach >= n;
  rule.window = whole ? 0 : std::max<std::int64_t>(reach, 1);
  return {rule, whole ? 0 : std::max<std::int64_t>(1 - reach, 0)};
}

// A window of all keys is none.
kernels::AttentionRule rule_of_ring(kernels::AttentionRule rule, std::int64_t keys) {
  if (rule.window >= keys) rule.window = 0;
  return rule;
}

Tensor without_first(const Tensor& x, std::int64_t count) {
  return count == 0 ? x : x.narrow(1, count, x.size(1) - count);
}
Tensor without_last(const Tensor& x, std::int64_t dim, std::int64_t count) {
  return count == 0 ? x : x.narrow(dim, 0, x.size(dim) - count);
}

// Attention of this worker's queries to blocks of keys. Results are [batch, query, heads, dim], logs [batch, heads, query];
// of documents without batch.
class BlockAttention {
 public:
  /// `segments`: of all keys, of documents in a window.
  BlockAttention(const Ring& ring, const Tensor& q, const Documents& documents, const Tensor& segments,
                 bool library)
      : ring_(ring),
        of_q_(q.sizes().vec()),
        apart_(documents.starts.defined()),
        library_(library),
        documents_(documents),
        segments_(segments),
        q_(as_flash_takes(q, apart_)) {
    if (apart_) starts_q_ = starts_in(ring.rank());
  }

  /// How kernels of the way that was chosen say that a query has seen nothing.
  double of_none() const { return library_ ? -kInfinity : kInfinity; }

  AttentionPart forward(const KeyBlock& keys, int block) {
    const auto seen = seen_of(block);
    const Tensor k = without_first(keys.k, seen.skip), v = without_first(keys.v, seen.skip);
    if (is_cut(seen, block)) return forward_of_one(k, v, block, seen);
    if (library_) {
      auto part = library_forward(without_last(grouped(), 1, seen.skip), k, v, seen.rule);
      return {part.out.flatten(2, 3), part.lse};
    }
    auto part = flash_forward(queries(q_, seen), as_flash_takes(k, apart_), as_flash_takes(v, apart_),
                              call(seen, block));
    seed_ = part.seed;
    unused_ = part.unused;
    return {part.out, part.lse};
  }

  /// Of one block. `whole`: over all keys; all as forward() has them but the gradients of keys, which lie as these.
  AttentionGradients backward(const Tensor& dout, const KeyBlock& keys, int block,
                              const AttentionPart& whole) {
    const auto seen = seen_of(block);
    const Tensor k = without_first(keys.k, seen.skip), v = without_first(keys.v, seen.skip);
    if (is_cut(seen, block)) return backward_of_one(dout, keys, k, v, block, seen, whole);
    const AttentionPart part{queries(whole.out, seen), without_last(whole.lse, -1, seen.skip).contiguous()};
    AttentionGradients d;
    if (library_) {
      d = library_backward(queries(dout, seen), without_last(grouped(), 1, seen.skip), k, v, part, seen.rule);
      d.q = d.q.flatten(2, 3);
    } else {
      d = flash_backward(queries(dout, seen), queries(q_, seen), as_flash_takes(k, apart_),
                         as_flash_takes(v, apart_), {part.out, part.lse, seed_, unused_}, call(seen, block));
      if (apart_) d.q = by_rows(d.q);
    }
    return {d.q, of_all_keys(d.k.reshape(k.sizes()), keys.k), of_all_keys(d.v.reshape(v.sizes()), keys.v)};
  }

  std::pair<Tensor, Tensor> for_backward() const { return {seed_, unused_}; }
  void take_back(const Tensor& seed, const Tensor& unused) {
    seed_ = seed;
    unused_ = unused;
  }
  Tensor as_result(const Tensor& x) const { return x.reshape(of_q_); }
  Tensor as_here(const Tensor& x) const { return x.reshape(q_.sizes()).contiguous(); }

 private:
  SeenOfBlock seen_of(int block) const {
    return seen_of_block(ring_.rule, (ring_.rank() - block) * ring_.queries, ring_.keys);
  }
  Tensor grouped() const { return q_.view(of_q_); }
  static Tensor queries(const Tensor& x, const SeenOfBlock& seen) { return without_last(x, 1, seen.skip); }
  static Tensor of_all_keys(const Tensor& some, const Tensor& keys) {
    if (some.size(1) == keys.size(1)) return some.contiguous();
    Tensor all = at::_ops::zeros_like::call(keys, {}, {}, {}, {}, {});
    without_first(all, keys.size(1) - some.size(1)).copy_(some);
    return all;
  }

  // Of documents whose block in the past a window cuts: of each row at most one document, that of the first query, goes on from
  // there. Its keys, the last ones, are a sequence that all queries of the row see as in a window; for those of other documents
  // the result counts as that of nothing.
  bool is_cut(const SeenOfBlock& seen, int block) const {
    return apart_ && seen.rule.window > 0 && block != ring_.rank();
  }
  struct OneDocument {
    FlashCall call;
    Tensor others;  // [row, query]: of other documents
  };
  OneDocument one_document(const SeenOfBlock& seen, int block) const {
    const auto n = ring_.keys - seen.skip, first = ring_.rank() * ring_.queries;
    const Tensor which = segments_.narrow(1, first, 1), others = segments_.narrow(1, first, n).ne(which);
    const Tensor keys = segments_.narrow(1, block * ring_.keys + seen.skip, n).eq(which);
    // Two sequences of a row: keys that nobody sees, and those of the document.
    const Tensor count = keys.sum(1, true, at::kInt), ones = count.mul(0).add_(1);
    const auto until = [](const Tensor& lengths) {
      const Tensor ends = lengths.flatten().cumsum(0, at::kInt);
      return at::_ops::constant_pad_nd::call(ends, c10::fromIntArrayRefSlow({1, 0}), 0);
    };
    const Tensor none = count.mul(0);
    return {
        {seen.rule, until(beside(none, ones.mul(n))), until(beside(ones.mul(n).sub_(count), count)), n, n},
        others};
  }
  static Tensor beside(const Tensor& a, const Tensor& b) {
    return at::_ops::cat::call(at::ITensorListRef({a, b}), 1);
  }
  // [row, position, ...] of [position of all, ...], and of rows without the last positions again.
  Tensor by_rows(const Tensor& x) const { return x.unflatten(0, {of_q_[0], x.size(0) / of_q_[0]}); }
  Tensor of_first(const Tensor& x, const SeenOfBlock& seen) const {
    return without_last(by_rows(x), 1, seen.skip).flatten(0, 1).contiguous();
  }

  AttentionPart forward_of_one(const Tensor& k, const Tensor& v, int block, const SeenOfBlock& seen) {
    const auto one = one_document(seen, block);
    const auto part =
        flash_forward(of_first(q_, seen), as_flash_takes(k, true), as_flash_takes(v, true), one.call);
    const Tensor out = at::_ops::zeros_like::call(q_, {}, {}, {}, {}, {});
    const Tensor others = one.others.unsqueeze(-1);
    without_last(by_rows(out), 1, seen.skip).copy_(by_rows(part.out).masked_fill(others.unsqueeze(-1), 0));
    const Tensor logs = new_floats_beside(q_, {q_.size(0), q_.size(1)}).fill_(kInfinity);
    without_last(by_rows(logs), 1, seen.skip).copy_(by_rows(part.lse.t()).masked_fill(others, kInfinity));
    return {out, logs.t().contiguous()};
  }
  AttentionGradients backward_of_one(const Tensor& dout, const KeyBlock& keys, const Tensor& k,
                                     const Tensor& v, int block, const SeenOfBlock& seen,
                                     const AttentionPart& whole) const {
    const auto one = one_document(seen, block);
    const Tensor logs =
        by_rows(of_first(whole.lse.t(), seen)).masked_fill(one.others.unsqueeze(-1), kInfinity);
    const FlashResult of{of_first(whole.out, seen), logs.flatten(0, 1).t().contiguous(), seed_, unused_};
    auto d = flash_backward(of_first(dout, seen), of_first(q_, seen), as_flash_takes(k, true),
                            as_flash_takes(v, true), of, one.call);
    return {by_rows(d.q), of_all_keys(d.k.reshape(k.sizes()), keys.k),
            of_all_keys(d.v.reshape(v.sizes()), keys.v)};
  }

  FlashCall call(const SeenOfBlock& seen, int block) const {
    const auto most = apart_ ? std::min(documents_.longest, ring_.queries) : ring_.queries - seen.skip;
    if (!apart_) return {seen.rule, {}, {}, most, most};
    const bool own = block == ring_.rank();
    return {seen.rule, starts_q_, own ? starts_q_ : starts_in(block), most, most};
  }
  // Where documents begin in shard `block` of each row, the shards behind one another. A document that has no positions there
  // is empty; of one that has some in two shards all queries in the one see all keys in the other, if any.
  Tensor starts_in(int block) const {
    const auto n = ring_.keys, row = n * ring_.size();
    const Tensor rows = documents_.starts.floor_divide(row);
    const Tensor places = documents_.starts.sub(rows, row).sub_(block * n).clamp_(0, n);
    return places.add_(rows, n);
  }

  const Ring& ring_;
  std::vector<std::int64_t> of_q_;
  bool apart_, library_;
  Documents documents_;
  Tensor segments_, q_, starts_q_;
  Tensor seed_, unused_;
};

struct DeviceRing : torch::autograd::Function<DeviceRing> {
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        const kernels::AttentionRule& rule, const Documents& documents,
                        const std::optional<Tensor>& segments, Collectives* workers, bool library) {
    const Ring ring{*workers, rule_of_ring(rule, k.size(1) * workers->size()), q.size(1), k.size(1)};
    BlockAttention attention(ring, q, documents, segments.value_or(Tensor()), library);
    AttentionJoint joint;
    Round round{ring, {k, v}, {}};
    for (int step = 0; step < ring.size(); ++step) {
      Passes passes;
      round.pass(step, passes);
      Travel travel(*workers, passes);
      if (round.seen()) joint.add(attention.forward(round.here, round.block));
      travel.finish();
      round.advance();
    }
    const auto whole = joint.joined(attention.of_none());
    const auto [seed, unused] = attention.for_backward();
    ctx->save_for_backward(
        {q, k, v, whole.out, whole.lse, documents.starts, seed, unused, segments.value_or(Tensor())});
    ctx->saved_data["workers"] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(workers));
    ctx->saved_data["longest"] = documents.longest;
    ctx->saved_data["library"] = library;
    keep(ctx, ring.rule);
    return attention.as_result(whole.out);
  }

  // As the CPU's: gradients for a block leave a step after they were found. They travel in 16 bits, and owners add them in 32,
  // in order of steps. Nothing stays longer than it has to.
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto* workers = reinterpret_cast<Collectives*>(  // NOLINT: kept as a number by the context
        static_cast<std::intptr_t>(ctx->saved_data["workers"].toInt()));
    const auto s = ctx->get_saved_variables();
    const Tensor &q = s[0], &k = s[1];
    const auto type = q.scalar_type();
    const Ring ring{*workers, kept_rule(ctx), q.size(1), k.size(1)};
    BlockAttention attention(ring, q, {s[5], ctx->saved_data["longest"].toInt()}, s[8],
                             ctx->saved_data["library"].toBool());
    attention.take_back(s[6], s[7]);
    const AttentionPart whole{s[3], s[4]};
    const Tensor dout = attention.as_here(grads[0]);
    Round round{ring, {k, s[2]}, {}};
    GradientSum dq, dk, dv;
    KeyBlock found;
    for (int step = 0; step <= ring.size(); ++step) {
      Passes passes;
      KeyBlock came;
      if (step < ring.size()) round.pass(step, passes);
      if (step > 1) {
        if (ring.comes_back(step - 1)) came = KeyBlock{k, k}.like(type);
        found.pass(1 - step, came, passes);
      }
      Travel travel(*workers, passes);
      AttentionGradients fresh;
      if (step < ring.size() && round.seen())
        fresh = attention.backward(dout, round.here, round.block, whole);
      travel.finish();
      round.advance();
      found = {};
      if (came.k.defined()) {
        dk.add(std::move(came.k));
        dv.add(std::move(came.v));
      }
      if (!fresh.q.defined()) continue;
      dq.add(std::move(fresh.q));
      if (step > 0) {
        found = {std::move(fresh.k), std::move(fresh.v)};
      } else {  // the own block, which every query of it sees
        dk.add(std::move(fresh.k));
        dv.add(std::move(fresh.v));
      }
    }
    return {attention.as_result(dq.as(type)),
            dk.as(type),
            dv.as(type),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

std::string_view why_no_device_ring(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                                    const RuleTensors& tensors) {
  if (rule.offset != 0) return "queries that do not stand at the keys";
  if (tensors.query_segments.defined() && tensors.documents == nullptr)
    return "segments that are not known beforehand";
  return why_no_flash_attention(q, k, rule, tensors);
}

std::string why_no_library_ring(const Tensor& q, const Tensor& k, const Tensor& v,
                                const kernels::AttentionRule& rule, const RuleTensors& tensors,
                                const Collectives& workers) {
  if (tensors.documents != nullptr && tensors.documents->starts.defined())
    return "documents that lie on several ranks";
  const auto n = k.size(1);
  const auto of_ring = rule_of_ring(rule, n * workers.size());
  const Tensor taken = as_flash_takes(q, false).view(q.sizes());
  const auto first = of_ring.causal ? 0 : -1;  // blocks that a window does not cut are alike
  const auto last = of_ring.window == 0 ? 1 : workers.size() - 1;
  for (int distance = first; distance <= last; ++distance) {
    const auto seen = seen_of_block(of_ring, distance * n, n);
    if (seen.skip >= n) break;
    auto why = why_no_library_block(without_last(taken, 1, seen.skip), without_first(k, seen.skip),
                                    without_first(v, seen.skip), seen.rule);
    if (!why.empty()) return why;
  }
  return "";
}

Tensor device_ring_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                             const kernels::AttentionRule& rule, const RuleTensors& tensors,
                             Collectives& workers, bool library) {
  const Documents documents = tensors.documents == nullptr ? Documents() : *tensors.documents;
  return DeviceRing::apply(q, k, v, rule, documents, if_any(tensors.key_segments), &workers, library);
}

}  // namespace bora::core::autograd
