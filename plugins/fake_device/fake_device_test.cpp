// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Devices, seen from the host: where arrays are made, how they move, what may not be mixed.
#include "fake_device.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/activation.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/cuda_facts.h"
#include "bora/core/device.h"
#include "bora/core/device_kernels.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/index.h"
#include "bora/core/kernels/cpu/adamw.h"
#include "bora/core/mapping.h"
#include "bora/core/norm.h"
#include "bora/core/plain_ops.h"
#include "bora/core/read_back.h"
#include "bora/core/reduce.h"
#include "bora/core/rope.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using NameList = std::vector<std::string_view>;

const NameList kAb{"a", "b"};
const std::vector<std::int64_t> kSizes{3, 4};
const Shape kShape{kAb, kSizes};
constexpr Device kTest{Device::Type::test, 0};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Array host(std::uint64_t seed) { return random_normal(Key::from_seed(seed), kShape); }

TEST(FakeDevice, MakesTheSameArraysAsTheHost) {
  const std::vector<float> numbers(12, 0.5F);
  const NameList one{"a"};
  const std::vector<std::int64_t> size{5};
  const std::function<Array()> all[] = {
      [] { return zeros(kShape); },
      [] { return full(kShape, 3, DType::i32); },
      [&] { return arange({one, size}, 2, 3); },
      [&] { return from_data(kShape, std::span<const float>(numbers)); },
      [] { return random_normal(Key::from_seed(1), kShape); },
  };
  for (const auto& make : all) {
    const Array here = make();
    const DeviceScope scope(kTest);
    const Array there = make();
    EXPECT_EQ(device_of(here), Device());
    EXPECT_EQ(device_of(there), kTest);
    EXPECT_EQ(there.to_vector<double>(), here.to_vector<double>());
  }
  EXPECT_EQ(default_device(), Device());
}

TEST(FakeDevice, ArraysMoveOnlyWhenTold) {
  const Array here = host(1), there = to(here, kTest);
  EXPECT_EQ(to(there, kTest).node(), there.node()) << "it is there";
  EXPECT_EQ(to(there, {}).to_vector<float>(), here.to_vector<float>());
  EXPECT_EQ(error_of([&] { binary(Binary::add, {here, kAb}, {there, kAb}, kAb); }),
            "add: [a=3, b=4] is on cpu but [a=3, b=4] is on test\n"
            "hint: nothing moves by itself; core::to() brings one to the other's device");
  EXPECT_EQ(error_of([&] { there.data<float>(); }),
            "data: the array is on test, not in host memory\nhint: use to_vector()");
  const Device gpu{Device::Type::cuda, 0};
  EXPECT_EQ(error_of([&] { to(here, gpu); }), "device: " + why_no_gpu(cuda_facts(), gpu, 0));
}

TEST(FakeDeviceDeathTest, TheHostMayNotTouchItsMemory) {
  const Array there = to(host(1), kTest);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(*tensor(there).const_data_ptr<float>())), "");
}

TEST(FakeDevice, GradientsComeBack) {
  Array x = host(1);
  const std::vector<Array*> parameters{&x};
  const auto result = value_and_grad(parameters, [&] {
    const Array there = to(x, kTest);
    return to(reduce(Reduction::sum, {unary(Unary::square, {there, kAb}), kAb}, kAb), {});
  });
  const auto gradient = result.gradients[0].to_vector<float>(), value = x.to_vector<float>();
  EXPECT_EQ(device_of(result.gradients[0]), Device());
  for (std::size_t i = 0; i < value.size(); ++i) EXPECT_FLOAT_EQ(gradient[i], 2 * value[i]);
}

// A device's backward pass would run on a thread of libtorch's, where our scopes are unknown.
TEST(FakeDevice, BackwardStaysOnItsThread) {
  Array x = to(host(1), kTest);
  const std::vector<Array*> parameters{&x};
  std::vector<std::thread::id> threads;
  std::vector<bool> plain;
  const PlainOpsScope scope;
  value_and_grad(parameters, [&] {
    return checkpoint(
        [&](std::span<const Array> in) {
          threads.push_back(std::this_thread::get_id());
          plain.push_back(plain_ops());
          return std::vector<Array>{reduce(Reduction::sum, {unary(Unary::square, {in[0], kAb}), kAb}, kAb)};
        },
        {&x, 1})[0];
  });
  EXPECT_EQ(threads, std::vector<std::thread::id>(2, std::this_thread::get_id()));
  EXPECT_EQ(plain, std::vector<bool>(2, true));
}

TEST(FakeDevice, CountsHowOftenTheHostWaits) {
  const Array x = to(host(1), kTest);
  fake_device::reset();
  const Array sum = reduce(Reduction::sum, {unary(Unary::square, {x, kAb}), kAb}, kAb);
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  EXPECT_GT(fake_device::counts().operations, 0);
  (void)sum.item();
  EXPECT_EQ(fake_device::counts().synchronizations, 1);
  (void)x.to_vector<float>();
  EXPECT_EQ(fake_device::counts().synchronizations, 2);
}

// What the host writes goes there out of pinned memory, without a wait, what is large in pieces; only what lies elsewhere does
// not.
TEST(FakeDevice, TakesArraysOfTheHostWithoutAWait) {
  const std::vector<std::string_view> names{"a"};
  const auto made = [&](std::int64_t n) {
    const DeviceScope there(kTest);
    std::vector<std::int32_t> values(static_cast<std::size_t>(n), 7);
    values[0] = 1;
    const std::vector<std::int64_t> sizes{n};
    const Array x = from_data({names, sizes}, std::span<const std::int32_t>(values));
    std::fill(values.begin(), values.end(), -1);
    return x;
  };
  fake_device::reset();
  const Array x = made(3);
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  EXPECT_EQ(fake_device::counts().uploads, 1);
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 7, 7}));
  fake_device::reset();
  const Array large = made((1 << 22) + 1);
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  EXPECT_EQ(fake_device::counts().uploads, 2) << "of 16 MiB, and of the rest";
  std::vector<std::int32_t> want((1 << 22) + 1, 7);
  want[0] = 1;
  EXPECT_EQ(large.to_vector<std::int32_t>(), want);
  fake_device::reset();
  (void)to(host(1), kTest);
  EXPECT_EQ(fake_device::counts().synchronizations, 1);
}

// With the device's own kernels, which are the CPU's here, and with plain ops.
void expect_steps_as_the_host(bool plain) {
  const PlainOpsScope ops_there(plain);
  const auto on_host = [](const auto& body) {
    const PlainOpsScope kernels_here(false);
    body();
  };
  const kernels::AdamW step{.learning_rate = 1e-2F,
                            .beta1 = 0.9F,
                            .beta2 = 0.95F,
                            .epsilon = 1e-8F,
                            .weight_decay = 0.1F,
                            .correction1 = 0.1F,
                            .correction2 = 0.05F,
                            .gradient_scale = 0.5F};
  Array p = host(1), m = host(3), v = unary(Unary::square, {host(4), kAb});
  const Array g = host(2);
  Array p2 = to(p, kTest), m2 = to(m, kTest), v2 = to(v, kTest);
  const Array g2 = to(g, kTest);
  ReadBack read;
  std::vector<std::size_t> places;
  fake_device::reset();
  for (const Array& x : {g, g2}) {
    const Array largest = max_abs(x);
    places.insert(places.end(), {read.add(largest), read.add(square_numbers(x, largest))});
  }
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  read.wait();
  EXPECT_EQ(fake_device::counts().synchronizations, 1);
  const auto sum = [&](std::size_t i) {
    return sum_of_squares(read.value(places[i]), read.values(places[i + 1]));
  };
  EXPECT_EQ(sum(2), sum(0)) << "exact on both";
  EXPECT_EQ(first_non_finite(g2), -1);
  adamw(step, p2, g2, m2, v2);
  add_into(m2, g2);
  EXPECT_EQ(fake_device::counts().kernels, plain ? 0 : 4);
  add_scaled(v2, 0.5F, g2);
  on_host([&] {
    adamw(step, p, g, m, v);
    add_into(m, g);
    add_scaled(v, 0.5F, g);
  });
  if (!plain) {
    EXPECT_EQ(p2.to_vector<float>(), p.to_vector<float>());
  }
  const auto close = [](const Array& a, const Array& b) {
    const auto x = a.to_vector<float>(), y = b.to_vector<float>();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-6);
  };
  close(p, p2);
  close(m, m2);
  close(v, v2);
  EXPECT_EQ(error_of([&] { add_into(m, g2); }).substr(0, 46),
            "add_into: 12 elements on cpu beside 12 on test");
}

TEST(FakeDevice, StepsAsTheHostByItsKernels) { expect_steps_as_the_host(false); }
TEST(FakeDevice, StepsAsTheHostByPlainOps) { expect_steps_as_the_host(true); }

// A kernel with a backward pass, against the plain op: layer norm has none on this device, RMS norm has.
TEST(FakeDevice, NormsByKernelAndByPlainOp) {
  const NameList b{"b"};
  const auto run = [&](bool plain, bool rms) {
    const PlainOpsScope ops(plain);
    Array x = to(host(1), kTest), w = to(random_normal(Key::from_seed(2), {b, Sizes(kSizes).last(1)}), kTest);
    const std::vector<Array*> parameters{&x, &w};
    const auto result = value_and_grad(parameters, [&] {
      const Array y = rms ? rms_norm({x, kAb}, w, b, 1e-5) : layer_norm({x, kAb}, w, {}, b, 1e-5);
      return reduce(Reduction::sum, {unary(Unary::square, {y, kAb}), kAb}, kAb);
    });
    std::vector<float> out{static_cast<float>(result.value.item())};
    for (const auto& g : result.gradients)
      for (const float value : g.to_vector<float>()) out.push_back(value);
    return out;
  };
  for (const bool rms : {true, false}) {
    fake_device::reset();
    const auto got = run(false, rms);
    EXPECT_EQ(fake_device::counts().kernels, 2) << "forward and backward";
    const auto want = run(true, rms);
    EXPECT_EQ(fake_device::counts().kernels, 2) << "none in a scope of plain ops";
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
  }
}

// Ops that have kernels there, in fp32 and bf16: as many kernels as said, and what the CPU's give.
TEST(FakeDevice, PointwiseOpsByKernelAndByPlainOp) {
  const NameList bte{"b", "t", "e"};
  const std::vector<std::int64_t> sizes{2, 3, 8}, angle_sizes{3, 4};
  const NameList th{"t", "h"};
  const Array angles = random_normal(Key::from_seed(9), {th, angle_sizes});
  const auto run = [&](Device device, DType type, bool plain, const auto& op) {
    const PlainOpsScope ops(plain);
    const auto made = [&](int seed) {
      return to(
          cast({random_normal(Key::from_seed(static_cast<std::uint64_t>(seed)), {bte, sizes}), bte}, type),
          device);
    };
    Array x = made(1), up = made(2);
    const std::vector<Array*> parameters{&x, &up};
    const auto result = value_and_grad(parameters, [&] {
      const Array y = cast({op(x, up, to(angles, device)), bte}, DType::f32);
      const Array sum = binary(Binary::add, {y, bte}, {cast({up, bte}, DType::f32), bte}, bte);
      return reduce(Reduction::sum, {unary(Unary::square, {sum, bte}), bte}, bte);
    });
    std::vector<float> out;
    for (const auto& g : result.gradients) {
      for (const float value : cast({g, bte}, DType::f32).template to_vector<float>()) out.push_back(value);
    }
    return out;
  };
  const auto check = [&](std::string_view what, const auto& op) {
    for (const auto type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(std::string(what) + " in " + std::string(name(type)));
      fake_device::reset();
      const auto got = run(kTest, type, false, op);
      EXPECT_EQ(fake_device::counts().kernels, 2) << "forward and backward";
      const auto plain = run(kTest, type, true, op), want = run({}, type, false, op);
      EXPECT_EQ(fake_device::counts().kernels, 2) << "none in a scope of plain ops";
      EXPECT_EQ(got, want) << "the CPU's, through its table";
      ASSERT_EQ(got.size(), plain.size());
      const float near = type == DType::f32 ? 1e-4F : 0.25F;
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], plain[i], near) << i;
    }
  };
  check("gelu",
        [&](const Array& x, const Array&, const Array&) { return activate(Activation::gelu, {x, bte}); });
  check("gated silu", [&](const Array& x, const Array& up, const Array&) {
    return gated(Activation::silu, {x, bte}, {up, bte});
  });
  check("rope", [&](const Array& x, const Array&, const Array& a) { return rope({x, bte}, "t", "e", a, a); });
  check("dropout", [&](const Array& x, const Array&, const Array&) {
    return dropout({x, bte}, 0.25, Key::from_seed(3));
  });
}

// Rows of a table, some of which are chosen several times; then their sums once more, differentiated too.
TEST(FakeDevice, RowsOfATableByKernelAndByPlainOp) {
  const NameList ve{"v", "e"}, pe{"p", "e"}, p{"p"};
  const std::vector<std::int64_t> table_sizes{5, 3}, size{6};
  const std::vector<std::int32_t> chosen{4, 1, 4, 0, 4, 1};
  const auto run = [&](Device device, DType type, bool plain) {
    const PlainOpsScope ops(plain);
    Array table = to(cast({random_normal(Key::from_seed(1), {ve, table_sizes}), ve}, type), device);
    const Array ids = to(from_data({p, size}, std::span<const std::int32_t>(chosen)), device);
    const std::vector<Array*> parameters{&table};
    const auto result = value_and_grad(parameters, [&] {
      const Array rows = unary(Unary::square, {take({table, ve}, "v", {ids, p}, pe), pe});
      const Array sums = cast({scatter_add({table, ve}, "v", {ids, p}, {rows, pe}), ve}, DType::f32);
      return reduce(Reduction::sum, {unary(Unary::square, {sums, ve}), ve}, ve);
    });
    return cast({result.gradients[0], ve}, DType::f32).to_vector<float>();
  };
  for (const auto type : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(name(type));
    fake_device::reset();
    const auto got = run(kTest, type, false);
    EXPECT_EQ(fake_device::counts().kernels, 2) << "the sums, and the gradient of the rows";
    EXPECT_EQ(run(kTest, type, false), got) << "the same bits again";
    const auto plain = run(kTest, type, true), want = run({}, type, false);
    EXPECT_EQ(fake_device::counts().kernels, 4) << "none in a scope of plain ops";
    if (type == DType::f32) {
      EXPECT_EQ(got, want) << "the order of the places, as on the CPU";
    }
    ASSERT_EQ(got.size(), plain.size());
    const float near = type == DType::f32 ? 1e-5F : 0.03F;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], plain[i], near * (1 + std::abs(plain[i]))) << i;
  }
}

// A head on a device: 7 positions in chunks of 3.
struct HeadThere {
  NameList pe{"p", "e"}, ve{"v", "e"}, v{"v"}, p{"p"};
  Array hidden, head, bias, targets, weights;
  HeadThere(Device device, DType type) {
    const std::vector<std::int64_t> of_hidden{7, 5}, of_head{11, 5}, of_bias{11}, positions{7};
    const auto normal = [&](std::uint64_t seed, const NameList& names, std::span<const std::int64_t> sizes) {
      return to(cast({random_normal(Key::from_seed(seed), {names, sizes}), names}, type), device);
    };
    hidden = normal(1, pe, of_hidden);
    head = normal(2, ve, of_head);
    bias = normal(3, v, of_bias);
    const std::vector<std::int32_t> chosen{0, 10, -1, 4, 4, 7, 2};
    const std::vector<float> by{1, 0.5F, 0, 2, 1, 0, 1};
    targets = to(from_data({p, positions}, std::span<const std::int32_t>(chosen)), device);
    weights = to(from_data({p, positions}, std::span<const float>(by)), device);
  }
  HeadOptions options(bool mapped) const {
    return mapped ? HeadOptions{.logit_scale = 0.5, .soft_cap = 3, .bias = bias} : HeadOptions{};
  }
  Array loss(bool mapped) const {
    const Array sum =
        linear_cross_entropy({hidden, pe}, {head, ve}, {targets, p}, {weights, p}, {options(mapped), 1e-2, 3})
            .loss;
    return binary(Binary::multiply, {sum, {}}, 0.25);
  }
  // Its squares as a loss: each position has its own gradient.
  Array log_probs(bool mapped) const {
    const Array each = linear_log_prob({hidden, pe}, {head, ve}, {targets, p}, options(mapped), 3);
    return reduce(Reduction::sum, {unary(Unary::square, {each, p}), p}, p);
  }
  // The value, then all gradients.
  std::vector<float> differentiated(bool mapped, const std::function<Array()>& f) {
    std::vector<Array*> parameters{&hidden, &head};
    if (mapped) parameters.push_back(&bias);
    const auto result = value_and_grad(parameters, f);
    std::vector<float> out{static_cast<float>(result.value.item())};
    const NameList* const names[] = {&pe, &ve, &v};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto one = cast({result.gradients[i], *names[i]}, DType::f32).to_vector<float>();
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  }
};

void expect_near_each(const std::vector<float>& got, const std::vector<float>& want, float near) {
  ASSERT_EQ(got.size(), want.size());
  float most = 1;
  for (const float x : want) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], near * most) << i;
}

// `kernels`: how many a pass and its gradients take, beside one a chunk for the gradient of a bias. Then plain ops take
// none, and agree as the CPU does.
void expect_heads_agree(bool log_probs, std::int64_t kernels) {
  const auto run = [&](Device device, DType type, bool mapped, bool plain) {
    const PlainOpsScope ops(plain);
    HeadThere h(device, type);
    return h.differentiated(mapped, [&] { return log_probs ? h.log_probs(mapped) : h.loss(mapped); });
  };
  for (const auto type : {DType::f32, DType::bf16}) {
    for (const bool mapped : {false, true}) {
      SCOPED_TRACE(std::string(name(type)) + (mapped ? ", mapped" : ""));
      fake_device::reset();
      const auto got = run(kTest, type, mapped, false);
      EXPECT_EQ(fake_device::counts().kernels, kernels + (mapped ? 3 : 0));
      EXPECT_EQ(run(kTest, type, mapped, false), got) << "the same bits again";
      fake_device::reset();
      const auto plain = run(kTest, type, mapped, true);
      EXPECT_EQ(fake_device::counts().kernels, 0);
      const float near = type == DType::f32 ? 2e-6F : 0.02F;
      expect_near_each(got, plain, near);
      expect_near_each(got, run({}, type, mapped, false), near);
    }
  }
}

TEST(FakeDevice, LossesByKernelAndByPlainOp) { expect_heads_agree(false, 3); }
TEST(FakeDevice, LogProbsByKernelAndByPlainOp) { expect_heads_agree(true, 6); }

TEST(FakeDevice, TheHostDoesNotWaitForALoss) {
  HeadThere h(kTest, DType::f32);
  const std::vector<Array*> parameters{&h.hidden, &h.head};
  fake_device::reset();
  const auto result = value_and_grad(parameters, [&] { return h.loss(false); });
  EXPECT_EQ(fake_device::counts().synchronizations, 0);
  EXPECT_EQ(fake_device::counts().kernels, 3);
}

TEST(FakeDevice, ScoresByKernelAndByPlainOp) {
  const auto run = [](Device device, bool plain) {
    const PlainOpsScope ops(plain);
    const HeadThere h(device, DType::f32);
    return linear_scores({h.hidden, h.pe}, {h.head, h.ve}, {h.targets, h.p}, {h.options(true), 3})
        .log_prob.to_vector<float>();
  };
  fake_device::reset();
  const auto got = run(kTest, false);
  EXPECT_EQ(fake_device::counts().kernels, 3);
  expect_near_each(got, run(kTest, true), 2e-6F);
  EXPECT_EQ(fake_device::counts().kernels, 3) << "none in a scope of plain ops";
  expect_near_each(got, run({}, false), 2e-6F);
}

TEST(FakeDevice, AKernelFindsNumbersThatAreNotFinite) {
  std::vector<float> numbers(12, 0.5F);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    numbers[7] = bad;
    const Array x = to(from_data(kShape, std::span<const float>(numbers)), kTest), largest = max_abs(x);
    EXPECT_TRUE(std::isnan(largest.item()));
    EXPECT_EQ(square_numbers(x, largest).sizes(), (std::vector<std::int64_t>{4}));
  }
}

TEST(FakeDevice, CountsItsMemory) {
  const auto before = device_memory(kTest);
  {
    const Array x = to(host(1), kTest);
    EXPECT_EQ(device_memory(kTest).live, before.live + 512);
  }
  EXPECT_EQ(device_memory(kTest).live, before.live);
  EXPECT_GE(device_memory(kTest).peak, before.live + 512);
  EXPECT_EQ(device_count(kTest.type), 1);
  EXPECT_EQ(device_count(Device::Type::cpu), 1);
  EXPECT_EQ(description(kTest), "device of the tests");
  EXPECT_EQ(description({}), "cpu");
}

TEST(FakeDevice, SaysWhatDoesNotFit) {
  const NameList names{"a"};
  const std::vector<std::int64_t> size{100'000};
  const Array x = to(random_normal(Key::from_seed(1), {names, size}), kTest);
  const auto live = device_memory(kTest).live;
  fake_device::limit_memory(live + 100'000);
  const auto said = [&](const std::function<void()>& body) { return error_of(body); };
  const auto fact = "out of memory on test: 400 kB more do not fit beside " + human_bytes(double(live)) +
                    " in use; 100 kB of " + human_bytes(double(live + 100'000)) +
                    " are free, with [a=100000]";
  const std::string advice =
      "\nhint: more trainer.lanes or a smaller trainer.train_batch_size (generate: --batch), "
      "model.gradient_checkpointing: true, or a shorter model.seq_len";
  EXPECT_EQ(said([&] { unary(Unary::square, {x, names}); }), "square: " + fact + " of f32" + advice);
  EXPECT_EQ(said([&] {
              const DeviceScope scope(kTest);
              zeros({names, size});
            }),
            "zeros: " + fact + advice);
  EXPECT_EQ(said([&] {
              Array p = x;
              const std::vector<Array*> parameters{&p};
              value_and_grad(parameters, [&] {
                fake_device::limit_memory(live + 900'000);  // enough for the forward pass alone
                const Array y = reduce(Reduction::sum, {unary(Unary::exp, {p, names}), names}, names);
                fake_device::limit_memory(device_memory(kTest).live + 1000);
                return y;
              });
            }).substr(0, 37),
            "backward pass: out of memory on test:");
  fake_device::limit_memory({});
  EXPECT_EQ(device_memory(kTest).live, live) << "what was begun is gone";
  EXPECT_EQ(device_memory(kTest).total - device_memory(kTest).free, live);
  EXPECT_EQ(unary(Unary::square, {x, names}).sizes(), size) << "the device goes on";
}

TEST(Device, Names) {
  for (const char* text : {"cpu", "cuda:0", "cuda:3", "test"}) EXPECT_EQ(name(parse_device(text)), text);
  EXPECT_EQ(name(parse_device("cuda")), "cuda:0");
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 "}) {
    EXPECT_EQ(error_of([&] { parse_device(text); }),
              "device: " + std::string(text) + " is not one of cpu, cuda, cuda:0, cuda:1, ...");
  }
}

}  // namespace
}  // namespace bora::core
