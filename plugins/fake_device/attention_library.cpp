// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A library for attention, as cuDNN is one to GPUs: heads where they lie, documents as sequences of their own, room that
// it is given. It computes by the CPU's kernels, in fp32, and rounds once; what cuDNN would read wrongly is an error.
#include "bora/core/attention_library.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/kernels/cpu/values.h"
#include "fake_device.h"
#include "graph.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

using core::AttentionArrays;
using core::AttentionPlan;
using core::ReadyAttention;
using Strides = AttentionPlan::Strides;

constexpr const char* kName = "library of the tests 1.0";
std::string refused_all, refused;  // why
std::mutex plans;                  // workers of a test are threads
std::map<AttentionPlan, ReadyAttention> plans_made, plans_refused;

void require_right(bool right, const char* what) {
  if (!right) fail(ErrorKind::InvalidArgument, "library of the tests: {}", what);
}

const ReadyAttention& ready_for(const AttentionPlan& plan, std::int8_t device) {
  require_right(device == 0, "there is one device");
  computed("library.ready");
  const std::lock_guard hold(plans);
  if (!refused.empty()) return plans_refused[plan] = {plan, refused};
  return plans_made
      .try_emplace(plan, ReadyAttention{plan, "", 12, 4 * plan.batch * plan.kv_heads * plan.group})
      .first->second;
}

// Where one sequence lies in arrays of it, and how long it is.
struct Piece {
  std::int64_t sequence, first, length_q, length_k;
};
std::vector<Piece> pieces_of(const AttentionPlan& plan, const AttentionArrays& arrays) {
  std::vector<Piece> out;
  require_right(plan.of_documents() == (arrays.starts != nullptr), "where documents begin");
  const auto* starts = static_cast<const std::int32_t*>(shadow(arrays.starts));
  for (std::int64_t i = 0; i < plan.batch; ++i) {
    if (starts == nullptr) {
      out.push_back({i, 0, plan.queries, plan.keys});
      continue;
    }
    const std::int64_t length = starts[i + 1] - starts[i];
    require_right(length >= 0 && length <= plan.queries && plan.queries == plan.keys,
                  "a document longer than was said");
    if (length > 0) out.push_back({0, starts[i], length, length});
  }
  require_right(starts == nullptr || starts[plan.batch] == plan.positions, "positions of no document");
  return out;
}

struct OfOperand {
  const void* at;
  Strides strides;
  std::int64_t heads, head_dim;

  void check() const {
    require_right(reinterpret_cast<std::uintptr_t>(at) % 16 == 0, "no address of 16 bytes");
    for (const auto stride : {strides.batch, strides.position, strides.head})
      require_right(stride % 8 == 0, "rows that are no packs of 16 bytes");
  }
  // A row of a head at a position.
  std::uint16_t* row(const Piece& p, std::int64_t position, std::int64_t head) const {
    auto* const first = static_cast<std::uint16_t*>(shadow(at));
    return first + p.sequence * strides.batch + (p.first + position) * strides.position + head * strides.head;
  }
  template <class F>
  void each(const Piece& p, std::int64_t length, std::vector<float>& here, const F& f) const {
    here.resize(static_cast<std::size_t>(length * heads * head_dim));
    for (std::int64_t i = 0; i < length; ++i)
      for (std::int64_t h = 0; h < heads; ++h) f(row(p, i, h), here.data() + (i * heads + h) * head_dim);
  }
  std::vector<float> read(const Piece& p, std::int64_t length) const {
    std::vector<float> here;
    each(p, length, here,
         [&](const std::uint16_t* there, float* to) { kernels::from_bf16(head_dim, there, to); });
    return here;
  }
  void write(const Piece& p, std::int64_t length, std::vector<float>& here) const {
    each(p, length, here,
         [&](std::uint16_t* there, float* from) { kernels::to_bf16(head_dim, from, there); });
  }
};

// One sequence as the CPU's kernels take it: [position, kv head, group, dim] without gaps.
struct OnePiece {
  kernels::AttentionShape shape;
  kernels::AttentionRule rule;

  OnePiece(const AttentionPlan& plan, const Piece& p)
      : shape{1, p.length_q, p.length_k, plan.kv_heads, plan.group, plan.head_dim},
        rule{.scale = plan.scale,
             .causal = plan.causal,
             .offset = p.length_k - p.length_q,
             .window = plan.window} {}
  template <class T>
  kernels::HeadsRef<T> query(std::vector<float>& x) const {
    const auto d = shape.head_dim, g = shape.group * d, row = shape.kv_heads * g;
    return {x.data(), shape.queries * row, row, g, d};
  }
  template <class T>
  kernels::HeadsRef<T> key(std::vector<float>& x) const {
    const auto d = shape.head_dim, row = shape.kv_heads * d;
    return {x.data(), shape.keys * row, row, d, 0};
  }
};

struct Operands {
  OfOperand q, k, v, out, dout, dq, dk, dv;

  Operands(const AttentionPlan& p, const AttentionArrays& a)
      : q{a.q, p.q, p.kv_heads * p.group, p.head_dim},
        k{a.k, p.k, p.kv_heads, p.head_dim},
        v{a.v, p.v, p.kv_heads, p.head_dim},
        out{a.out, p.out, p.kv_heads * p.group, p.head_dim},
        dout{a.dout, p.out, p.kv_heads * p.group, p.head_dim},
        dq{a.dq, p.dq, p.kv_heads * p.group, p.head_dim},
        dk{a.dk, p.dk, p.kv_heads, p.head_dim},
        dv{a.dv, p.dv, p.kv_heads, p.head_dim} {
    for (const auto* x : {&q, &k, &v, &out, &dout, &dq, &dk, &dv}) x->check();
    require_right(p.head_dim % 8 == 0 && p.head_dim <= 256, "the size of a head");
  }
};

// In the order of positions, then heads, as it likes.
float* logs_of(const AttentionPlan& plan, const AttentionArrays& arrays, const Piece& p) {
  const auto at = p.sequence * plan.queries + p.first;
  return static_cast<float*>(shadow(arrays.lse)) + at * plan.kv_heads * plan.group;
}

void use_room(const AttentionArrays& arrays, std::int64_t bytes) {
  std::memset(shadow(arrays.room), 0x7f, static_cast<std::size_t>(bytes));
}

void forward(const ReadyAttention* by, AttentionArrays arrays) {
  launched("library.forward");
  const auto& plan = by->plan;
  const Operands x(plan, arrays);
  use_room(arrays, by->forward_room);
  for (const auto& p : pieces_of(plan, arrays)) {
    const OnePiece one(plan, p);
    auto q = x.q.read(p, p.length_q), k = x.k.read(p, p.length_k), v = x.v.read(p, p.length_k);
    std::vector<float> out(q.size());
    kernels::attention_forward(one.shape, one.rule, one.query<const float>(q), one.key<const float>(k),
                               one.key<const float>(v), one.query<float>(out), logs_of(plan, arrays, p));
    x.out.write(p, p.length_q, out);
  }
}

void backward(const ReadyAttention* by, AttentionArrays arrays) {
  launched("library.backward");
  const auto& plan = by->plan;
  const Operands x(plan, arrays);
  use_room(arrays, by->backward_room);
  for (const auto& p : pieces_of(plan, arrays)) {
    const OnePiece one(plan, p);
    auto q = x.q.read(p, p.length_q), k = x.k.read(p, p.length_k), v = x.v.read(p, p.length_k),
         out = x.out.read(p, p.length_q), dout = x.dout.read(p, p.length_q);
    std::vector<float> dq(q.size()), dk(k.size()), dv(v.size());
    kernels::attention_backward(one.shape, one.rule, one.query<const float>(q), one.key<const float>(k),
                                one.key<const float>(v), one.query<const float>(out),
                                logs_of(plan, arrays, p), one.query<const float>(dout), one.query<float>(dq),
                                one.key<float>(dk), one.key<float>(dv));
    x.dq.write(p, p.length_q, dq);
    x.dk.write(p, p.length_k, dk);
    x.dv.write(p, p.length_k, dv);
  }
}

template <auto F>
void entry(const ReadyAttention& by, std::int8_t /*device*/, AttentionArrays arrays,
           core::AttentionLibrary::Stream /*stream*/) {
  {
    const std::lock_guard hold(plans);
    const auto it = plans_made.find(by.plan);
    require_right(it != plans_made.end() && &it->second == &by, "a plan that it has not made");
  }
  Noted<F>::call(&by, arrays);
}

}  // namespace

void bring_attention_library(bool on) {
  core::AttentionLibrary library;
  if (on && refused_all.empty())
    library = {kName, "", ready_for, entry<forward>, entry<backward>};
  else if (on)
    library = {.name = kName, .why_not = refused_all};
  core::register_attention_library(core::Device::Type::test, library);
}

void refuse_attention(const std::string& why, bool all) {
  refused = all ? "" : why;
  refused_all = all ? why : "";
  bring_attention_library(!core::attention_library(core::Device::Type::test).name.empty());
}

}  // namespace bora::fake_device
