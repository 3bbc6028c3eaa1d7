// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Rates of causal attention in bf16, forward and backward, by each way that a device has for it: its library (cuDNN),
// FlashAttention, plain operations; on the CPU its kernel. One JSON line for each way and shape.
//
//   attention_rates cuda         at the shapes of the benchmark's models
//   attention_rates DEVICE N     of one row of N positions
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/attention.h"
#include "bora/core/attention_library.h"
#include "bora/core/create.h"
#include "bora/core/cuda_engine.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/plain_ops.h"
#include "bora/core/reduce.h"
#include "bora/core/runtime.h"

namespace {

using namespace bora;
using namespace bora::core;
using Clock = std::chrono::steady_clock;

struct HeadsCase {
  std::string_view name;
  std::int64_t sequences, positions, kv_heads, group, dim;
  // Of products, each score once: two forward, five backward; of a half of all pairs.
  double operations() const {
    return 7.0 * static_cast<double>(sequences * kv_heads * group) * static_cast<double>(dim) *
           static_cast<double>(positions * positions);
  }
};
constexpr std::array kModels{
    HeadsCase{"gpt2-124m", 16, 1024, 12, 1, 64}, HeadsCase{"gpt2-1.5b", 8, 1024, 25, 1, 64},
    HeadsCase{"qwen2.5-1.5b", 8, 1024, 2, 6, 128}, HeadsCase{"llama-8b-8", 1, 8192, 8, 4, 128}};
constexpr int kBefore = 3, kTimes = 10;

const std::vector<std::string_view> kQuery{"b", "t", "h", "g", "d"}, kKey{"b", "s", "h", "d"};

Array made(std::uint64_t seed, const std::vector<std::string_view>& names,
           const std::vector<std::int64_t>& sizes) {
  return cast({random_normal(Key::from_seed(seed), {names, sizes}), names}, DType::bf16);
}

// A number that the device makes at the end is read: then all is done.
double seconds(const HeadsCase& s) {
  Array q = made(1, kQuery, {s.sequences, s.positions, s.kv_heads, s.group, s.dim}),
        k = made(2, kKey, {s.sequences, s.positions, s.kv_heads, s.dim}),
        v = made(3, kKey, {s.sequences, s.positions, s.kv_heads, s.dim});
  const std::vector<Array*> parameters{&q, &k, &v};
  std::vector<double> times;
  for (int turn = 0; turn < kBefore + kTimes; ++turn) {
    const auto begin = Clock::now();
    (void)value_and_grad(parameters, [&] {
      const Array out = attention({q, kQuery}, {k, kKey}, {v, kKey}, {"t", "s", "d"}, {});
      return reduce(Reduction::sum, {cast({out, kQuery}, DType::f32), kQuery}, kQuery);
    });
    const std::array<std::string_view, 1> names{"x"};
    const std::array<std::int64_t, 1> sizes{1};
    (void)ones({names, sizes}).to_vector<float>();
    if (turn >= kBefore) times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
  return times[kTimes / 2];
}

void tell(std::string_view by, const HeadsCase& s) {
  try {
    const double took = seconds(s);
    fmt::print(R"({{"by": "{}", "case": "{}", "ms": {:.4f}, "rate": {:.2f}, "unit": "TFLOP/s"}})"
               "\n",
               by, s.name, 1e3 * took, 1e-12 * s.operations() / took);
  } catch (const std::exception&) {  // plain operations may not fit
    const std::string words = current_error().what();
    fmt::print(R"({{"by": "{}", "case": "{}", "error": "{}"}})"
               "\n",
               by, s.name, words.substr(0, words.find_first_of("\n\"")));
  }
  std::fflush(stdout);
}

void tell_all(Device device, std::span<const HeadsCase> shapes) {
  const AttentionLibrary library = attention_library(device.type);
  for (const auto& s : shapes) {
    if (device == Device()) {
      tell("kernel", s);
    } else {
      if (!library.name.empty() && library.why_not.empty()) tell(library.name, s);
      register_attention_library(device.type, {});
      tell("FlashAttention", s);
      register_attention_library(device.type, library);
    }
    const PlainOpsScope plain;
    tell("plain operations", s);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.size() > 2) {
    fmt::print(stderr, "usage: attention_rates DEVICE [POSITIONS]\n");
    return 2;
  }
  initialize();
  if (words[0].starts_with("cuda")) open_cuda_engine();
  const auto device = parse_device(words[0]);
  const DeviceScope scope(device);
  if (words.size() == 1) {
    tell_all(device, kModels);
    return 0;
  }
  const std::array one{HeadsCase{"a row", 1, parse_int(words[1]).value_or(64), 2, 2, 64}};
  tell_all(device, one);
} catch (const std::exception& e) {
  fmt::print(stderr, "attention_rates: {}\n", e.what());
  return 1;
}
