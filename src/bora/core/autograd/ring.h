// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what goes round the ring of workers that share a sequence, and who needs what of it.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bora/core/autograd/cast.h"
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/mapping.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {

using Passes = std::vector<Collectives::Pass>;

/// Of keys and values, or of their gradients: [batch, key, kv head, dim], contiguous.
struct KeyBlock {
  at::Tensor k, v;

  KeyBlock like(at::ScalarType type) const { return {alike(k, type), alike(v, type)}; }
  KeyBlock as(at::ScalarType type) const { return {cast(k, type), cast(v, type)}; }
  /// To the worker `places` further on, while `in` comes. Either may be nothing.
  void pass(int places, const KeyBlock& in, Passes& passes) const {
    passes.push_back({places, array(k), array(in.k)});
    passes.push_back({places, array(v), array(in.v)});
  }

 private:
  static Array array(const at::Tensor& x) { return x.defined() ? wrap(x) : Array(); }
  static at::Tensor alike(const at::Tensor& x, at::ScalarType type) {
    return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(x.sizes()), type, {}, x.device(), {},
                                               {});
  }
};

/// Who needs what. Worker w has the queries from w·queries on; it begins with block w of the keys and has,
/// after `step` steps, that of the worker so many places before.
struct Ring {
  Collectives& workers;
  kernels::AttentionRule rule;  // offset: of rank 0's queries
  std::int64_t queries, keys;   // of one worker

  int size() const { return workers.size(); }
  int rank() const { return workers.rank(); }
  int at(int place) const { return (place % size() + size()) % size(); }

  bool sees(int worker, int block) const {
    const std::int64_t first = worker * queries + rule.offset, last = first + queries - 1;
    if (rule.causal && block * keys > last) return false;
    return rule.window == 0 || (block + 1) * keys > first + 1 - rule.window;
  }
  /// Whether a block that has come `step` steps goes further: somebody sees it there.
  bool goes_on(int block, int step) const {
    for (int s = step + 1; s < size(); ++s)
      if (sees(at(block + s), block)) return true;
    return false;
  }
  /// Whether what was found for this worker's block at `step` is there to come.
  bool comes_back(int step) const { return sees(at(rank() + step), rank()); }
};

/// What travels, until it has arrived: after an error, too, since its memory is about to go.
class Travel {
 public:
  Travel(Collectives& workers, const Passes& passes) : workers_(workers) { workers_.start_passes(passes); }
  ~Travel() {
    try {
      if (under_way_) workers_.finish_passes();
    } catch (...) {  // the error that ended the computation is the one to tell
    }
  }
  Travel(const Travel&) = delete;
  Travel& operator=(const Travel&) = delete;
  void finish() {
    under_way_ = false;
    workers_.finish_passes();
  }

 private:
  Collectives& workers_;
  bool under_way_ = true;
};

/// The block of keys and values that is here, and the next one on its way.
struct Round {
  const Ring& ring;
  KeyBlock here, next;
  int block = ring.rank();

  void pass(int step, Passes& passes) {
    next = ring.goes_on(ring.at(block - 1), step) ? here.like(here.k.scalar_type()) : KeyBlock();
    (ring.goes_on(block, step) ? here : KeyBlock()).pass(1, next, passes);
  }
  void advance() {
    if (next.k.defined()) here = std::move(next);
    next = {};
    block = ring.at(block - 1);
  }
  bool seen() const { return ring.sees(ring.rank(), block); }
};

}  // namespace bora::core::autograd
