// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/refusal.h"

#include <gmock/gmock.h>

#include "bora/core/activation.h"
#include "bora/core/attention.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/grad.h"
#include "bora/core/norm.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/testing.h"
#include "bora/core/update.h"

namespace bora::core {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Array array(const Dims& sizes, DType dtype = DType::f32) {
  return wrap(values(sizes).to(scalar_type(dtype)));
}

const std::string kHint =
    "\nhint: look at the sizes, element types and values above; if they are right, this is a mistake in Bora";

auto refuses(const std::string& start) { return AllOf(StartsWith(start), EndsWith(kHint)); }

// Each of these once left as an exception of libtorch, with its stack and without the op's name.
TEST(Refusal, NamesTheOpAndItsOperands) {
  const Array x = array({2, 3}), y = array({3, 4}), weight = array({3}, DType::f64), bias = array({5});
  const NameList ab{"a", "b"}, bc{"b", "c"}, b{"b"}, ac{"a", "c"};
  const Array truth = array({2, 3}, DType::boolean), other = array({3, 4}, DType::boolean);
  EXPECT_THAT(error_of([&] { dot({truth, ab}, {other, bc}, ac); }),
              refuses("dot: libtorch refuses [a=2, b=3] of bool and [b=3, c=4] of bool: "));
  EXPECT_THAT(error_of([&] { linear({x, ab}, {y, bc}, bias, ac); }),
              refuses("linear: libtorch refuses [a=2, b=3] of f32 and [b=3, c=4] of f32 and [?=5] of f32: "));
  EXPECT_THAT(error_of([&] { rms_norm({array({2, 3}, DType::i64), ab}, {}, b, 1e-5); }),
              refuses("rms_norm: libtorch refuses [a=2, b=3] of i64: "));
  EXPECT_THAT(error_of([&] { layer_norm({array({2, 3}, DType::i64), ab}, weight, {}, b, 1e-5); }),
              refuses("layer_norm: libtorch refuses [a=2, b=3] of i64 and [b=3] of f64: "));
  EXPECT_THAT(
      error_of([&] { gated(Activation::silu, {x, ab}, {array({3, 2, 2}), NameList{"b", "a", "d"}}); }),
      refuses("gated: libtorch refuses [a=2, b=3] of f32 and [b=3, a=2, d=2] of f32: "));
  EXPECT_THAT(error_of([&] { read_slice(x, 0, 1, 7); }),
              refuses("read_slice: libtorch refuses [?=2, ?=3] of f32: "));
}

TEST(Refusal, SaysWhatMemoryWasFor) {
  const NameList names{"a", "b"};
  const Dims sizes{std::int64_t{1} << 30, std::int64_t{1} << 25};
  EXPECT_THAT(error_of([&] { uninitialized({names, sizes}); }), HasSubstr("[a=1073741824, b=33554432]"));
}

// As libtorch says it of a GPU.
TEST(Refusal, SaysWhatADeviceHasNoRoomFor) {
  const Array x = array({2});
  const NameList names{"a"};
  const auto device = default_device();
  const auto text = [&](std::string_view asked) {
    return out_of_memory_text(device, asked, device_memory(device));
  };
  EXPECT_EQ(error_of([&] {
              try {
                TORCH_CHECK_WITH(
                    OutOfMemoryError, false,
                    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total of 79.1 GiB");
              } catch (...) {
                rethrow("dot", {Operand{x, names}});
              }
            }),
            "dot: " + text("2.00 GiB") + ", with [a=2] of f32\nhint: " + std::string(kMemoryAdvice));
  EXPECT_EQ(device_memory_fact("something else"), text(""));
}

TEST(Refusal, SaysWhatIsFree) {
  const Device gpu{Device::Type::cuda, 1};
  const DeviceMemory memory{
      .live = 77'000'000'000, .peak = 0, .total = 80'000'000'000, .free = 1'200'000'000};
  EXPECT_EQ(
      out_of_memory_text(gpu, "2.00 GB", memory),
      "out of memory on cuda:1: 2.00 GB more do not fit beside 77.0 GB in use; 1.20 GB of 80.0 GB are free");
  EXPECT_EQ(out_of_memory_text(gpu, "", memory), "out of memory on cuda:1; 1.20 GB of 80.0 GB are free");
  EXPECT_EQ(std::string(OutOfMemory({}, 3000, {.live = 5}).what()),
            "out of memory: 3.00 kB more do not fit beside 5 B in use\nhint: " + std::string(kMemoryAdvice));
}

TEST(Refusal, KeepsErrorsOfOurOwn) {
  EXPECT_EQ(error_of([] {
              try {
                fail(ErrorKind::Config, "softmax: as it was");
              } catch (...) {
                rethrow("dot", {});
              }
            }),
            "softmax: as it was");
}

TEST(Refusal, CoversTheBackwardPass) {
  Array x = array({2});
  std::vector<Array*> parameters{&x};
  const NameList names{"a"};
  const auto body = [&] {
    const at::Tensor y = tensor(x).mul(1);
    y.register_hook([](const at::Tensor& gradient) { return gradient.view({7}); });
    return reduce(Reduction::sum, {wrap(y), names}, names);
  };
  EXPECT_THAT(error_of([&] { value_and_grad(parameters, body); }),
              refuses("backward pass: libtorch refuses its operands: "));
}

}  // namespace
}  // namespace bora::core
