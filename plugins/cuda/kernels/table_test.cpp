// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Each entry that core gets, with the kernels on the host: what the CPU's kernels give, to the bit where neither
// calls a function that each machine has its own of.
#include "../table.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/randint.h>

#include <cstdlib>

#include "activation.h"
#include "bora/core/autograd/device_experts.h"
#include "bora/core/cuda_plugin.h"
#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/kernels/cpu/cross_entropy.h"
#include "bora/core/kernels/cpu/fp8.h"
#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/kernels/cpu/random.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/rope.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;
using core::DType;

constexpr DType kType = DType::f32;

TEST(CudaTable, ComesWithThePlugin) {
  const auto plugin = core::load_cuda_plugin(BORA_CUDA_ON_HOST);
  EXPECT_TRUE(plugin.loaded) << plugin.reason;
  ASSERT_NE(plugin.has_kernels, nullptr);
  EXPECT_TRUE(plugin.has_kernels(1));
  EXPECT_FALSE(plugin.has_kernels(2));
  const auto& graph = plugin.kernels.graph;
  ASSERT_TRUE(graph.begin && graph.end && graph.launch && graph.destroy);
  EXPECT_FALSE(graph.begin(nullptr)) << "a stand-in";
  const auto& copies = plugin.kernels.copies;
  ASSERT_TRUE(copies.pinned && copies.stream && copies.event && copies.record && copies.wait && copies.copy);
  auto* const stream = copies.stream(1);
  auto* const event = copies.event(1);
  const int from = 7;
  auto* const pinned = static_cast<int*>(copies.pinned(sizeof(int)));
  EXPECT_TRUE(copies.copy(pinned, &from, sizeof(int), stream));
  EXPECT_TRUE(copies.record(event, stream) && copies.wait(stream, event));
  EXPECT_EQ(*pinned, from);
  std::free(pinned);  // of a stand-in
}

TEST(CudaTable, StepsAsTheCpu) {
  const auto k = table();
  const std::int64_t n = 5003;
  const kernels::AdamW step{1e-2F, 0.9F, 0.95F, 1e-8F, 0.1F, 0.271F, 0.1426F, 0.5F};
  const auto g = random<float>(n, 1, 3);
  auto p = random<float>(n, 2), m = random<float>(n, 3), v = random<float>(n, 4);
  for (float& x : v) x = std::abs(x);
  auto p2 = p, m2 = m, v2 = v;
  const kernels::Stepped stepped{n, p.data(), g.data(), m.data(), v.data(), step.weight_decay};
  k.adamw(step, 1, &stepped, nullptr);
  kernels::adamw(n, step, p2.data(), g.data(), m2.data(), v2.data());
  expect_close("parameter", p, wide(p2));
  expect_close("mean", m, wide(m2));
  expect_close("square", v, wide(v2));
  const kernels::Rounding rounding{1, 2, {1, {{700, 1000, 300}}}};
  List<Bf16> m3(n), v3(n), m4(n), v4(n);
  kernels::to_bf16(n, m.data(), &m3[0].bits);
  kernels::to_bf16(n, v.data(), &v3[0].bits);
  m4 = m3, v4 = v3;
  auto p3 = p, p4 = p;
  const kernels::SteppedBf16 narrow{n,         p3.data(),         g.data(), m3.data(),
                                    v3.data(), step.weight_decay, nullptr,  rounding};
  k.adamw_bf16(step, 1, &narrow, nullptr);
  kernels::adamw(n, step, p4.data(), g.data(), &m4[0].bits, &v4[0].bits, rounding);
  EXPECT_EQ(p3, p4);
  EXPECT_EQ(wide(m3), wide(m4));
  EXPECT_EQ(wide(v3), wide(v4));
  const kernels::Added added{n, m.data(), g.data()};
  k.add_into(1, &added, nullptr);
  kernels::add_into(n, m2.data(), g.data());
  expect_close("sum", m, wide(m2));

  float largest = 0;
  List<double> numbers(4);
  const kernels::Measured measured{n, g.data(), &largest, numbers.data()};
  k.max_abs(1, &measured, nullptr);
  EXPECT_EQ(largest, kernels::max_abs(n, g.data()));
  k.square_numbers(1, &measured, nullptr);
  kernels::SquareSum sum(largest), same(largest);
  sum.add(n, g.data());
  same.add(kernels::SquareSum::Numbers{numbers[0], numbers[1], numbers[2], numbers[3]});
  EXPECT_EQ(same.value(), sum.value());
}

TEST(CudaTable, NormsAsTheCpu) {
  const auto k = table();
  const std::int64_t rows = 37, n = 40;
  const auto x = random<float>(rows * n, 1), dy = random<float>(rows * n, 2), w = random<float>(n, 3),
             b = random<float>(n, 4);
  List<float> y(rows * n), rstd(rows), mean(rows), dx(rows * n), dw(n), db(n), room(k.norm_room(rows, n));
  auto y2 = y, rstd2 = rstd, mean2 = mean, dx2 = dx, dw2 = dw, db2 = db;
  k.rms_norm.forward(kType, rows, n, x.data(), nullptr, w.data(), 1e-3F, nullptr, y.data(), rstd.data(),
                     nullptr, nullptr);
  k.rms_norm.backward(kType, rows, n, x.data(), w.data(), rstd.data(), dy.data(), nullptr, dx.data(),
                      dw.data(), room.data(), nullptr, nullptr);
  kernels::rms_norm_forward(rows, n, x.data(), w.data(), 1e-3F, y2.data(), rstd2.data());
  kernels::rms_norm_backward(rows, n, x.data(), w.data(), rstd2.data(), dy.data(), dx2.data(), dw2.data());
  expect_close("y", y, wide(y2), {1e-5, 1e-5});
  expect_close("dx", dx, wide(dx2), {1e-5, 1e-5});
  expect_close("dweight", dw, wide(dw2), {1e-5, 1e-5});
  k.layer_norm.forward(kType, rows, n, x.data(), nullptr, w.data(), b.data(), 1e-3F, nullptr, y.data(),
                       mean.data(), rstd.data(), nullptr, nullptr);
  k.layer_norm.backward(kType, rows, n, x.data(), w.data(), mean.data(), rstd.data(), dy.data(), nullptr,
                        dx.data(), dw.data(), db.data(), room.data(), nullptr, nullptr);
  kernels::layer_norm_forward(rows, n, x.data(), w.data(), b.data(), 1e-3F, y2.data(), mean2.data(),
                              rstd2.data());
  kernels::layer_norm_backward(rows, n, x.data(), w.data(), mean2.data(), rstd2.data(), dy.data(), dx2.data(),
                               dw2.data(), db2.data());
  expect_close("y", y, wide(y2), {1e-5, 1e-5});
  expect_close("dx", dx, wide(dx2), {1e-5, 1e-5});
  expect_close("dweight", dw, wide(dw2), {1e-5, 1e-5});
  expect_close("dbias", db, wide(db2), {1e-5, 1e-5});
}

TEST(CudaTable, GradientsOfBiasesAsTheCpu) {
  const auto k = table();
  const std::int64_t rows = 300, n = 40;
  const auto x = random<float>(rows * n, 1);
  List<float> out(n);
  auto want = out;
  k.bias_gradient(kType, rows, n, x.data(), n, out.data(), nullptr);
  kernels::column_sums(rows, n, x.data(), want.data());
  expect_close("dbias", out, wide(want), {1e-5, 1e-5});
}

// With a residual, and what comes to the sum by other ways.
TEST(CudaTable, NormsOfSumsAsTheCpu) {
  const auto k = table();
  const std::int64_t rows = 9, n = 40;
  const auto x = random<float>(rows * n, 1), residual = random<float>(rows * n, 2),
             dy = random<float>(rows * n, 3), dsum = random<float>(rows * n, 4), w = random<float>(n, 5),
             b = random<float>(n, 6);
  auto both = x;
  kernels::add_into(rows * n, both.data(), residual.data());
  List<float> sum(rows * n), y(rows * n), rstd(rows), mean(rows), dx(rows * n), dw(n), db(n),
      room(k.norm_room(rows, n));
  auto y2 = y, rstd2 = rstd, mean2 = mean, dx2 = dx, dw2 = dw, db2 = db;
  k.rms_norm.forward(kType, rows, n, x.data(), residual.data(), w.data(), 1e-3F, sum.data(), y.data(),
                     rstd.data(), nullptr, nullptr);
  k.rms_norm.backward(kType, rows, n, sum.data(), w.data(), rstd.data(), dy.data(), dsum.data(), dx.data(),
                      dw.data(), room.data(), nullptr, nullptr);
  kernels::rms_norm_forward(rows, n, both.data(), w.data(), 1e-3F, y2.data(), rstd2.data());
  kernels::rms_norm_backward(rows, n, both.data(), w.data(), rstd2.data(), dy.data(), dx2.data(), dw2.data());
  kernels::add_into(rows * n, dx2.data(), dsum.data());
  EXPECT_EQ(sum, both);
  expect_close("y", y, wide(y2), {1e-5, 1e-5});
  expect_close("dx", dx, wide(dx2), {1e-5, 1e-5});
  expect_close("dweight", dw, wide(dw2), {1e-5, 1e-5});
  k.layer_norm.forward(kType, rows, n, x.data(), residual.data(), w.data(), b.data(), 1e-3F, sum.data(),
                       y.data(), mean.data(), rstd.data(), nullptr, nullptr);
  k.layer_norm.backward(kType, rows, n, sum.data(), w.data(), mean.data(), rstd.data(), dy.data(),
                        dsum.data(), dx.data(), dw.data(), db.data(), room.data(), nullptr, nullptr);
  kernels::layer_norm_forward(rows, n, both.data(), w.data(), b.data(), 1e-3F, y2.data(), mean2.data(),
                              rstd2.data());
  kernels::layer_norm_backward(rows, n, both.data(), w.data(), mean2.data(), rstd2.data(), dy.data(),
                               dx2.data(), dw2.data(), db2.data());
  kernels::add_into(rows * n, dx2.data(), dsum.data());
  EXPECT_EQ(sum, both);
  expect_close("y", y, wide(y2), {1e-5, 1e-5});
  expect_close("dx", dx, wide(dx2), {1e-5, 1e-5});
  expect_close("dweight", dw, wide(dw2), {1e-5, 1e-5});
  expect_close("dbias", db, wide(db2), {1e-5, 1e-5});
}

TEST(CudaTable, NarrowsAsTheCpu) {
  const auto k = table();
  const auto x = random<float>(1000, 1, 5), y = random<float>(17, 2);
  List<Bf16> a(1000), b(17), c(1000), d(17);
  float largest = 0;
  const List<kernels::Narrowed> both{{1000, x.data(), a.data(), &largest}, {17, y.data(), b.data()}};
  k.narrow(2, both.data(), nullptr);
  kernels::to_bf16(1000, x.data(), &c[0].bits);
  kernels::to_bf16(17, y.data(), &d[0].bits);
  EXPECT_EQ(wide(a), wide(c));
  EXPECT_EQ(wide(b), wide(d));
  EXPECT_EQ(largest, largest_in(c));
}

TEST(CudaTable, NarrowsToFp8AsTheCpu) {
  const auto k = table();
  const std::int64_t rows = 48, n = 80;
  const auto x = random<float>(rows * n, 5, 0.3F);
  for (const auto format : {core::Fp8::e4m3, core::Fp8::e5m2}) {
    List<std::uint8_t> y(rows * n), turned(rows * n), y2(rows * n), turned2(rows * n);
    float largest = 0, inverse = 0;
    k.narrow8.max_abs(kType, rows * n, x.data(), &largest, nullptr);
    EXPECT_EQ(largest, kernels::max_abs(rows * n, x.data()));
    k.narrow8.quantize(kType, format, rows, n, x.data(), &largest, 1, y.data(), turned.data(), &inverse,
                       nullptr);
    EXPECT_EQ(kernels::quantize(rows, n, x.data(), largest, format, y2.data(), turned2.data()), inverse);
    EXPECT_EQ(y, y2);
    EXPECT_EQ(turned, turned2);
  }
}

TEST(CudaTable, PointwiseAsTheCpu) {
  const auto k = table();
  const std::int64_t n = 1001;
  const auto x = random<float>(n, 1, 4), up = random<float>(n, 2), dy = random<float>(n, 3);
  List<float> a(n), b(n), a2(n), b2(n);
  for (int f = 0; f <= static_cast<int>(Activation::tanh); ++f) {
    const auto function = static_cast<Activation>(f);
    k.activate.forward(function, kType, n, x.data(), a.data(), nullptr, nullptr);
    k.activate.backward(function, kType, n, x.data(), dy.data(), b.data(), nullptr, nullptr);
    kernels::activate(function, n, x.data(), a2.data());
    kernels::activate_backward(function, n, x.data(), dy.data(), b2.data());
    expect_close("y", a, wide(a2), {1e-5, 1e-5});
    expect_close("dx", b, wide(b2), {1e-5, 1e-5});
    k.gated.forward(function, kType, 1, n, x.data(), up.data(), n, a.data(), nullptr, nullptr);
    kernels::gated(function, n, x.data(), up.data(), a2.data());
    expect_close("gated", a, wide(a2), {1e-5, 1e-5});
    k.gated.backward(function, kType, 1, n, x.data(), up.data(), n, dy.data(), a.data(), b.data(), n, nullptr,
                     nullptr);
    kernels::gated_backward(function, n, x.data(), up.data(), dy.data(), a2.data(), b2.data());
    expect_close("dgate", a, wide(a2), {1e-5, 1e-5});
    expect_close("dup", b, wide(b2), {1e-5, 1e-5});
  }
  const Key key = Key::from_seed(5);
  for (const std::int64_t first : {0, 3, 1000}) {
    k.dropout(key, nullptr, first, n, 0.3F, kType, x.data(), a.data(), nullptr);
    kernels::dropout(key, first, n, 0.3F, x.data(), a2.data());
    EXPECT_EQ(a, a2) << "from element " << first << " on";
    k.dropout(Key(), &key, first, n, 0.3F, kType, x.data(), a.data(), nullptr);
    EXPECT_EQ(a, a2) << "by a key that lies on the device";
  }
  const kernels::RopeShape s{1, 7, 11, 13, 5, 1001, 143, 13, 1001, 143, 13, true};
  const auto cos = random<float>(35, 5), sin = random<float>(35, 6);
  const kernels::Turned one{s, x.data(), a.data()};
  k.rope(1, &one, kType, cos.data(), sin.data(), true, nullptr);
  kernels::rope(s, x.data(), cos.data(), sin.data(), a2.data(), true);
  expect_close("rope", a, wide(a2));
}

// The CPU has no kernel for it: the sum in order of places.
TEST(CudaTable, AddsUpRowsOfATable) {
  const auto k = table();
  const std::int64_t places = 100, width = 24, vocab = 7;
  const auto dy = random<float>(places * width, 1);
  List<std::int32_t> ids, order;
  List<double> want(vocab * width);
  for (std::int32_t id = 0; id < vocab; ++id) {
    for (std::int32_t p = 0; p < places; ++p) {
      if (p * p % vocab != id) continue;
      ids.push_back(id);
      order.push_back(p);
      for (std::int64_t i = 0; i < width; ++i) want[id * width + i] += to_float(dy[p * width + i]);
    }
  }
  List<float> rows(vocab * width), room(k.embedding.room(places, width));
  k.embedding.backward(kType, places, width, vocab, ids.data(), order.data(), dy.data(), rows.data(),
                       room.data(), nullptr);
  expect_close("rows", rows, want, {1e-5, 1e-5});
}

// The CPU has no kernel for it: libtorch's ops. Where nobody visits, these have any visit, and the kernel the first one.
TEST(CudaTable, FindsSlotsAsPlainOps) {
  const auto k = table();
  const auto expect_as_plain = [&](const at::Tensor& choices, std::int64_t experts) {
    SCOPED_TRACE(::testing::Message() << choices.numel() << " choices of " << experts);
    const auto want = core::autograd::plan_slots(choices, experts);
    const std::int64_t n = choices.numel();
    List<std::int32_t> place(n), rows(experts), ends(experts), visits(n + 8 * experts),
        room(k.slots.room(n, experts));
    List<std::int64_t> pads(8 * experts);
    const bool wide = choices.scalar_type() == at::kLong;
    k.slots.plan(wide ? DType::i64 : DType::i32, n, experts, choices.const_data_ptr(),
                 {place.data(), rows.data(), ends.data(), visits.data(), pads.data()}, room.data(), nullptr);
    const auto numbers = [](const at::Tensor& x) {
      const auto* p = x.const_data_ptr<std::int32_t>();
      return List<std::int32_t>(p, p + x.numel());
    };
    EXPECT_EQ(place, numbers(want.place));
    EXPECT_EQ(rows, numbers(want.rows));
    EXPECT_EQ(ends, numbers(want.ends));
    const auto* p = want.pads.const_data_ptr<std::int64_t>();
    EXPECT_EQ(pads, List<std::int64_t>(p, p + want.pads.numel()));
    const auto any = numbers(want.visits);
    for (const auto slot : place) ASSERT_EQ(visits[slot], any[slot]) << slot;
    for (const auto slot : pads) ASSERT_EQ(visits[slot], 0) << slot;
  };
  for (const auto type : {at::kLong, at::kInt}) {
    for (const std::int64_t experts : {1, 7, 64, 600, 1023}) {
      for (const std::int64_t tokens : {1, 100, 2111}) {
        const auto some = at::randint(experts, {tokens, 2}, at::kLong).to(type);
        expect_as_plain(some, experts);
        expect_as_plain(some.div(3, "floor").to(type), experts);            // many without any
        expect_as_plain(some.new_full({tokens, 2}, experts / 2), experts);  // all to one
      }
    }
  }
}

TEST(CudaTable, LossesAsTheCpu) {
  const auto k = table();
  const std::int64_t rows = 9, vocab = 50, stride = 56;
  const auto x = random<float>(rows * stride, 1, 4), bias = random<float>(vocab, 2);
  const List<std::int32_t> targets{0, 7, -1, 49, 3, 3, 20, 31, 48};
  const List<float> weights{1, 0.5F, 0, 1, 2, 1, 1, 0, 1};
  for (const auto& map : {kernels::HeadMap{}, kernels::HeadMap{0.5F, 3, bias.data()}}) {
    for (const bool gradient : {false, true}) {
      auto z = x, z2 = x;
      List<float> loss(rows), lse(rows), loss2(rows), lse2(rows);
      k.cross_entropy(kType, rows, vocab, z.data(), stride, targets.data(), weights.data(), 1e-2F,
                      loss.data(), lse.data(), gradient, map, nullptr);
      kernels::cross_entropy(rows, vocab, z2.data(), stride, targets.data(), weights.data(), 1e-2F,
                             loss2.data(), lse2.data(), gradient, map);
      expect_close("loss", loss, wide(loss2), {1e-5, 1e-5});
      expect_close("lse", lse, wide(lse2), {1e-5, 1e-5});
      expect_close("x", z, wide(z2), {1e-5, 1e-5});
    }
  }
}

// Of bf16: the same entries, and what they do with those elements is what the kernels' own tests say.
TEST(CudaTable, TakesBf16) {
  const auto k = table();
  const std::int64_t n = 24;
  const auto x = random<Bf16>(n, 1, 2);
  List<Bf16> y(n), same(n);
  k.activate.forward(Activation::silu, DType::bf16, n, x.data(), y.data(), nullptr, nullptr);
  activate(Activation::silu, n, x.data(), same.data(), nullptr);
  EXPECT_EQ(wide(y), wide(same));
}

}  // namespace
}  // namespace bora::cuda
