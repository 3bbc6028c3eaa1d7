// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/attention.h"

#include <limits>
#include <string>

#include "bora/core/kernels/cpu/attention_sinks.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;
using i64 = std::int64_t;

struct Case {
  AttentionShape shape;
  AttentionRule rule;
  bool heads_first =
      false;  // memory order [batch, kv_head, group, position, dim] instead of [batch, position, ...]
  bool segments = false;
  const float* sinks = nullptr;  // [kv_head, group]
};

template <class T>
HeadsRef<T> heads(T* data, const Case& c, i64 positions, i64 group) {
  const i64 dim = c.shape.head_dim, all = c.shape.kv_heads * group;
  if (c.heads_first) return {data, all * positions * dim, dim, group * positions * dim, positions * dim};
  return {data, positions * all * dim, all * dim, group * dim, dim};
}

struct Arrays {
  Floats q, k, v, out, lse, dout, dq, dk, dv, dsinks;
};

Arrays make(const Case& c) {
  const AttentionShape& s = c.shape;
  const i64 nq = s.batch * s.queries * s.kv_heads * s.group * s.head_dim,
            nk = s.batch * s.keys * s.kv_heads * s.head_dim;
  const auto sized = [](i64 n) {
    return Floats(static_cast<std::size_t>(n), std::numeric_limits<float>::quiet_NaN());
  };
  return {random_floats(nq, 1, 2),
          random_floats(nk, 2, 2),
          random_floats(nk, 3),
          sized(nq),
          sized(s.batch * s.kv_heads * s.group * s.queries),
          random_floats(nq, 4),
          sized(nq),
          sized(nk),
          sized(nk),
          sized(s.kv_heads * s.group)};
}

struct Segments {
  std::vector<std::int32_t> query, key;
};

/// Documents of uneven length; the queries are the last positions of the keys.
Segments make_segments(const Case& c) {
  Segments s;
  for (i64 b = 0; b < c.shape.batch; ++b) {
    const auto document = [&](i64 p) { return static_cast<std::int32_t>((p + 7 * b) / 23); };
    for (i64 i = 0; i < c.shape.queries; ++i) s.query.push_back(document(i + c.rule.offset));
    for (i64 j = 0; j < c.shape.keys; ++j) s.key.push_back(document(j));
  }
  return s;
}

void run(const Case& c, const Segments& segments, Arrays& a) {
  AttentionRule rule = c.rule;
  if (c.segments) rule.query_segments = segments.query.data(), rule.key_segments = segments.key.data();
  const AttentionShape& s = c.shape;
  const auto q = [&](auto* p) { return heads(p, c, s.queries, s.group); };
  const auto k = [&](auto* p) {
    auto ref = heads(p, c, s.keys, 1);
    ref.group = 0;
    return ref;
  };
  const Arrays& in = a;
  const bool sinks = c.sinks != nullptr;
  if (sinks) begin_with_sinks(s, c.sinks, q(a.out.data()), a.lse.data());
  attention_forward(s, rule, q(in.q.data()), k(in.k.data()), k(in.v.data()), q(a.out.data()), a.lse.data(),
                    sinks);
  attention_backward(s, rule, q(in.q.data()), k(in.k.data()), k(in.v.data()), q(in.out.data()), in.lse.data(),
                     q(in.dout.data()), q(a.dq.data()), k(a.dk.data()), k(a.dv.data()));
  if (sinks) sink_gradients(s, c.sinks, q(in.out.data()), in.lse.data(), q(in.dout.data()), a.dsinks.data());
}

bool allowed(const Case& c, const Segments& s, i64 b, i64 i, i64 j) {
  const i64 position = i + c.rule.offset;
  if (c.rule.causal && j > position) return false;
  if (c.rule.window > 0 && j <= position - c.rule.window) return false;
  return !c.segments || s.query[static_cast<std::size_t>(b * c.shape.queries + i)] ==
                            s.key[static_cast<std::size_t>(b * c.shape.keys + j)];
}

/// Scores, explicit mask, softmax and their derivatives, in double precision, one row at a time.
void check(const Case& c) {
  const Segments segments = make_segments(c);
  Arrays a = make(c);
  run(c, segments, a);
  const AttentionShape& s = c.shape;
  std::vector<double> out(a.q.size()), lse(a.lse.size()), dq(a.q.size()), dk(a.k.size()), dv(a.k.size()),
      dsinks(a.dsinks.size());
  const auto q_ref = heads(a.q.data(), c, s.queries, s.group), k_ref = heads(a.k.data(), c, s.keys, 1);
  const auto keys = static_cast<std::size_t>(s.keys), dim = static_cast<std::size_t>(s.head_dim);
  for (i64 b = 0; b < s.batch; ++b) {
    for (i64 h = 0; h < s.kv_heads * s.group; ++h) {
      for (i64 i = 0; i < s.queries; ++i) {
        const i64 kv = h / s.group, g = h % s.group;
        const auto at = static_cast<std::size_t>(b * q_ref.batch + i * q_ref.position + kv * q_ref.kv_head +
                                                 g * q_ref.group);
        const auto key_at = [&](std::size_t j) {
          return static_cast<std::size_t>(b * k_ref.batch + kv * k_ref.kv_head) +
                 j * static_cast<std::size_t>(k_ref.position);
        };
        std::vector<double> p(keys), slope(keys, 1.0);
        double total = c.sinks == nullptr ? 0.0 : std::exp(static_cast<double>(c.sinks[h]));
        const double of_sink = total;
        for (std::size_t j = 0; j < keys; ++j) {
          if (!allowed(c, segments, b, i, static_cast<i64>(j))) continue;
          double score = 0;
          for (std::size_t x = 0; x < dim; ++x)
            score += static_cast<double>(a.q[at + x]) * static_cast<double>(a.k[key_at(j) + x]);
          score *= static_cast<double>(c.rule.scale);
          if (c.rule.soft_cap > 0) {
            const double t = std::tanh(score / static_cast<double>(c.rule.soft_cap));
            score = static_cast<double>(c.rule.soft_cap) * t;
            slope[j] = 1 - t * t;
          }
          if (c.rule.slopes != nullptr)
            score += static_cast<double>(c.rule.slopes[h]) *
                     static_cast<double>(static_cast<i64>(j) - i - c.rule.offset);
          p[j] = std::exp(score);
          total += p[j];
        }
        lse[static_cast<std::size_t>(((b * s.kv_heads + kv) * s.group + g) * s.queries + i)] =
            std::log(total);
        double delta = 0;
        std::vector<double> dp(keys);
        for (std::size_t j = 0; j < keys; ++j) {
          if (total > 0) p[j] /= total;
          for (std::size_t x = 0; x < dim; ++x) {
            out[at + x] += p[j] * static_cast<double>(a.v[key_at(j) + x]);
            dp[j] += static_cast<double>(a.dout[at + x]) * static_cast<double>(a.v[key_at(j) + x]);
            dv[key_at(j) + x] += p[j] * static_cast<double>(a.dout[at + x]);
          }
          delta += p[j] * dp[j];
        }
        if (of_sink > 0) dsinks[static_cast<std::size_t>(h)] -= of_sink / total * delta;
        for (std::size_t j = 0; j < keys; ++j) {
          const double ds = p[j] * (dp[j] - delta) * slope[j] * static_cast<double>(c.rule.scale);
          for (std::size_t x = 0; x < dim; ++x) {
            dq[at + x] += ds * static_cast<double>(a.k[key_at(j) + x]);
            dk[key_at(j) + x] += ds * static_cast<double>(a.q[at + x]);
          }
        }
      }
    }
  }
  expect_close(a.out, out, 1e-5, 2e-6);
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (std::isinf(lse[i])) {
      EXPECT_EQ(a.lse[i], -std::numeric_limits<float>::infinity());
    } else {
      EXPECT_NEAR(a.lse[i], lse[i], 1e-5);
    }
  }
  expect_close(a.dq, dq, 1e-4, 1e-5);
  expect_close(a.dk, dk, 1e-4, 3e-5);
  expect_close(a.dv, dv, 1e-4, 3e-5);
  if (c.sinks != nullptr) expect_close(a.dsinks, dsinks, 1e-4, 3e-5);
}

// AttentionShape: batch, queries, keys, kv_heads, group, head_dim. AttentionRule: scale, causal, offset,
// window, cap.
TEST(Attention, Causal) {
  check({{2, 1, 1, 1, 1, 16}, {0.25F}});
  check({{2, 5, 5, 2, 2, 8}, {0.3F}});
  check({{1, 33, 33, 2, 1, 20}, {0.2F}});
  check({{2, 130, 130, 1, 3, 64}, {0.125F}});
  check({{1, 401, 401, 1, 1, 32}, {0.2F}});  // several blocks of keys
}

TEST(Attention, HeadsFirstLayout) {
  check({{2, 70, 70, 2, 2, 24}, {0.2F}, true});
  check({{1, 9, 90, 2, 2, 24}, {0.2F, true, 81}, true});
}

TEST(Attention, Full) {
  check({{1, 20, 20, 2, 1, 16}, {0.25F, false}});
  check({{1, 50, 77, 1, 2, 16}, {0.25F, false}});
  check({{1, 3, 450, 1, 2, 16}, {0.25F, false}});
}

TEST(Attention, DecodingWithEarlierKeys) {
  check({{2, 1, 100, 2, 4, 64}, {0.125F, true, 99}});
  check({{1, 7, 64, 3, 1, 40}, {0.125F, true, 57}});
  check({{1, 60, 500, 1, 2, 16}, {0.25F, true, 440}});
  check({{1, 60, 100, 1, 2, 16}, {0.25F, true, 20}});  // keys that no query sees
}

TEST(Attention, SlidingWindow) {
  check({{1, 100, 100, 2, 1, 16}, {0.25F, true, 0, 1}});
  check({{1, 200, 200, 1, 2, 16}, {0.25F, true, 0, 37}});
  check({{1, 20, 700, 1, 1, 16}, {0.25F, true, 680, 100}});
  check({{1, 90, 90, 1, 1, 16}, {0.25F, false, 0, 10}});
}

TEST(Attention, SoftCap) {
  check({{1, 70, 70, 1, 2, 16}, {0.5F, true, 0, 0, 3.0F}});
  check({{1, 70, 70, 1, 1, 16}, {0.5F, false, 0, 9, 1.5F}});
}

TEST(Attention, SlopesOverDistances) {
  static constexpr float kSlopes[] = {0.5F, 0.0625F, 0.25F, 0.75F};
  const auto with = [](Case c) {
    c.rule.slopes = kSlopes;
    check(c);
  };
  with({{2, 70, 70, 2, 2, 16}, {0.25F}});
  with({{1, 90, 90, 1, 2, 16}, {0.25F, false, 0, 10, 2.0F}, true});
  with({{1, 401, 401, 1, 1, 20}, {0.2F}});
  with({{2, 3, 100, 2, 2, 24}, {0.25F, true, 97}});
  with({{2, 30, 150, 2, 2, 16}, {0.25F, true, 120, 10}, true, true});
}

constexpr float kSinks[] = {0.5F, -2.0F, 6.0F, 1.0F};

Case with_sinks(Case c) {
  c.sinks = kSinks;
  return c;
}

TEST(Attention, SinksTakePartAndHaveNoValue) {
  check(with_sinks({{2, 5, 5, 2, 2, 8}, {0.3F}}));
  check(with_sinks({{2, 130, 130, 1, 3, 64}, {0.125F}}));
  check(with_sinks({{1, 401, 401, 1, 1, 32}, {0.2F}}));
  check(with_sinks({{1, 200, 200, 1, 2, 16}, {0.25F, true, 0, 37}}));
  check(with_sinks({{1, 90, 90, 2, 1, 16}, {0.5F, false, 0, 10, 2.0F}, true}));
  check(with_sinks({{2, 1, 100, 2, 2, 64}, {0.125F, true, 99}}));
  check(with_sinks({{2, 30, 150, 2, 2, 16}, {0.25F, true, 120, 10}, true, true}));
  check(with_sinks({{1, 10, 4, 1, 1, 16}, {0.25F, true, -6}}));  // rows that see the sink alone
  check(with_sinks({{1, 900, 900, 1, 1, 16}, {0.25F}}));         // several parts
}

TEST(Attention, SinkThatNobodyFeelsChangesNothing) {
  static constexpr float kNone[] = {-1000.0F, -1000.0F};
  Case c{{1, 150, 150, 1, 2, 16}, {0.25F}, false, true};
  Arrays without = make(c), with = make(c);
  const Segments segments = make_segments(c);
  run(c, segments, without);
  c.sinks = kNone;
  run(c, segments, with);
  EXPECT_EQ(with.out, without.out);
  EXPECT_EQ(with.lse, without.lse);
  EXPECT_EQ(with.dq, without.dq);
  EXPECT_EQ(with.dk, without.dk);
  EXPECT_EQ(with.dsinks, Floats({0, 0}));
}

TEST(Attention, Segments) {
  check({{2, 150, 150, 1, 2, 16}, {0.25F}, false, true});
  check({{2, 150, 150, 1, 1, 16}, {0.25F, false}, false, true});
  check({{2, 30, 150, 2, 2, 16}, {0.25F, true, 120, 10, 2.0F}, true, true});
}

TEST(Attention, QueriesBeforeAllKeysGetZeros) { check({{1, 10, 4, 1, 1, 16}, {0.25F, true, -6}}); }

TEST(Attention, PartsOfFewHeads) { check({{1, 900, 900, 1, 1, 16}, {0.25F}}); }

/// The same with keys and values in `blocks` equal blocks, one call each, beginning with block `first` and
/// going down, as they come round a ring.
void run_in_blocks(const Case& c, const Segments& segments, i64 blocks, i64 first, Arrays& a) {
  AttentionShape part = c.shape;
  part.keys /= blocks;
  const auto q = [&](auto* p) { return heads(p, c, c.shape.queries, c.shape.group); };
  const auto k = [&](auto* p, i64 block) {
    auto ref = heads(p, c, c.shape.keys, 1);
    ref.group = 0;
    ref.data += block * part.keys * ref.position;
    return ref;
  };
  std::vector<std::int32_t> of_keys;
  const auto rule_for = [&](i64 block) {
    AttentionRule rule = c.rule;
    rule.offset -= block * part.keys;
    if (!c.segments) return rule;
    of_keys.clear();
    for (i64 b = 0; b < c.shape.batch; ++b) {
      const auto at = segments.key.begin() + b * c.shape.keys + block * part.keys;
      of_keys.insert(of_keys.end(), at, at + part.keys);
    }
    rule.query_segments = segments.query.data();
    rule.key_segments = of_keys.data();
    return rule;
  };
  const Arrays& in = a;
  if (c.sinks != nullptr) begin_with_sinks(part, c.sinks, q(a.out.data()), a.lse.data());
  for (i64 i = 0; i < blocks; ++i) {
    const i64 block = (first - i + blocks) % blocks;
    attention_forward(part, rule_for(block), q(in.q.data()), k(in.k.data(), block), k(in.v.data(), block),
                      q(a.out.data()), a.lse.data(), i > 0 || c.sinks != nullptr);
  }
  for (i64 i = 0; i < blocks; ++i) {
    const i64 block = (first - i + blocks) % blocks;
    attention_backward(part, rule_for(block), q(in.q.data()), k(in.k.data(), block), k(in.v.data(), block),
                       q(in.out.data()), in.lse.data(), q(in.dout.data()), q(a.dq.data()),
                       k(a.dk.data(), block), k(a.dv.data(), block), i > 0);
  }
}

void expect_within(const Floats& got, const Floats& want, const char* what) {
  float largest = 1, worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << what;
      continue;
    }
    largest = std::max(largest, std::abs(want[i]));
    EXPECT_FALSE(std::isnan(got[i])) << what;
    worst = std::max(worst, std::abs(got[i] - want[i]));
  }
  EXPECT_LE(worst, 1e-6F * largest) << what;
}

TEST(Attention, BlocksOfKeysJoinToTheWhole) {
  static constexpr float kSlopes[] = {0.5F, 0.0625F, 0.25F, 0.75F};
  const Case cases[] = {{{2, 96, 192, 2, 2, 16}, {0.25F, true, 96}},
                        {{1, 192, 192, 1, 3, 20}, {0.25F}},
                        {{1, 70, 192, 2, 1, 16}, {0.25F, false}},
                        {{1, 100, 192, 1, 2, 16}, {0.25F, true, 92, 30}},
                        {{1, 60, 192, 1, 1, 16}, {0.25F, false, 30, 40}},
                        {{2, 80, 192, 1, 2, 16}, {0.25F, true, 60}, true, true},
                        {{2, 30, 192, 2, 2, 16}, {0.5F, true, 120, 50, 3.0F}, false, true},
                        {{1, 20, 192, 1, 2, 16}, {0.25F, true, -10}},  // rows that see nothing
                        {{2, 96, 192, 2, 2, 16}, {.scale = 0.25F, .offset = 96, .slopes = kSlopes}},
                        {{1, 900, 1800, 1, 1, 16}, {0.25F, true, 900}},  // several parts
                        with_sinks({{2, 96, 192, 2, 2, 16}, {0.25F, true, 96, 60}}),
                        with_sinks({{1, 20, 192, 1, 2, 16}, {0.25F, true, -10}})};
  for (const Case& c : cases) {
    const Segments segments = make_segments(c);
    Arrays whole = make(c);
    run(c, segments, whole);
    for (const i64 blocks : {1, 2, 4}) {
      for (i64 first = 0; first < blocks; ++first) {
        Arrays a = make(c);
        run_in_blocks(c, segments, blocks, first, a);
        expect_within(a.out, whole.out, "out");
        expect_within(a.lse, whole.lse, "lse");
        expect_within(a.dq, whole.dq, "dq");
        expect_within(a.dk, whole.dk, "dk");
        expect_within(a.dv, whole.dv, "dv");
      }
    }
  }
}

TEST(Attention, BitsDoNotDependOnThreads) {
  const Case cases[] = {{{2, 130, 130, 3, 2, 48}, {0.2F}},
                        {{1, 500, 500, 1, 2, 32}, {0.2F, true, 0, 100}},
                        {{2, 4, 300, 2, 2, 32}, {0.2F, true, 296}},
                        with_sinks({{3, 40, 40, 2, 2, 32}, {0.2F, true}})};
  for (const Case& c : cases) {
    expect_equal_bits([&] {
      Arrays a = make(c);
      run(c, {}, a);
      const Floats sinks = c.sinks == nullptr ? Floats() : a.dsinks;
      return join({a.out, a.lse, a.dq, a.dk, a.dv, sinks});
    });
  }
}

}  // namespace
}  // namespace bora::kernels
