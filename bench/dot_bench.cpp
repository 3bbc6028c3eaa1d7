// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What names cost: nn::Linear and dot against the raw matrix product on the same memory, on GPT-2 124M's
// layers.
//
//   dot_bench [--rows 1024] [--seconds 1] [--threads 0] [--case c_fc]
//
// One JSON line for each case: milliseconds of both and named / raw. Rounds alternate between the two, and
// the ratio is the median of the rounds' own ratios, so that what else the machine does strikes both alike. A
// backward case is forward, backward to input and weight, and both again without the layer (the loss at its
// end), which is taken off.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/core/grad.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/runtime.h"
#include "bora/named/ops.h"
#include "bora/nn/linear.h"

namespace bora {
namespace {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct In : axis<"in"> {};
struct Out : axis<"out"> {};

struct Layer {
  std::string_view name;
  std::int64_t columns, inner;
};
constexpr Layer kLayers[] = {{"c_attn", 2304, 768},
                             {"c_proj", 768, 768},
                             {"c_fc", 3072, 768},
                             {"mlp_proj", 768, 3072},
                             {"head", 50257, 768}};

struct Settings {
  std::int64_t rows = 1024, threads = 0;
  double seconds = 1;
  std::string only;
};

double seconds_of(const std::function<void()>& work) {
  double started = monotonic_seconds();
  work();
  return monotonic_seconds() - started;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// `spare` is what `named` does beyond `raw` for reasons of its own; empty: nothing.
void compare(std::string_view layer, std::string_view what, const Settings& settings,
             const std::function<void()>& raw, const std::function<void()>& named,
             const std::function<void()>& spare = {}) {
  std::vector<double> raw_seconds, named_seconds, ratios;
  double until = 0;
  for (int round = -1; round < 3 || monotonic_seconds() < until; ++round) {
    double raw_time = seconds_of(raw), named_time = seconds_of(named);
    if (spare) named_time -= seconds_of(spare);
    if (round < 0) {  // the first touches memory and caches
      until = monotonic_seconds() + settings.seconds;
      continue;
    }
    raw_seconds.push_back(raw_time);
    named_seconds.push_back(named_time);
    ratios.push_back(named_time / raw_time);
  }
  fmt::print(R"({{"case":"{} {}","rows":{},"raw_ms":{:.4f},"named_ms":{:.4f},"ratio":{:.4f},"rounds":{}}})"
             "\n",
             layer, what, settings.rows, median(raw_seconds) * 1e3, median(named_seconds) * 1e3,
             median(ratios), ratios.size());
  std::fflush(stdout);
}

void bench(const Layer& layer, const Settings& settings) {
  using kernels::matmul;
  auto m = settings.rows, n = layer.columns, k = layer.inner;
  Dim<Batch> batch{4};
  Dim<Pos> pos{m / 4};
  Dim<In> in{k};
  Dim<Out> out{n};
  auto x = random_normal(Key::from_seed(1), 0, 1, batch, pos, in);
  auto grad = random_normal(Key::from_seed(2), 0, 1, batch, pos, out);
  auto linear = nn::Linear<In, Out>::init(in, out, Key::from_seed(3), 0.02, /*with_bias=*/false);

  const auto *px = x.array().data<float>(), *pg = grad.array().data<float>(),
             *pw = linear.weight.array().data<float>();
  std::vector<float> y(static_cast<std::size_t>(m * n)), dx(static_cast<std::size_t>(m * k)),
      dw(static_cast<std::size_t>(n * k));
  auto raw_forward = [&] { matmul(m, n, k, {px, k}, {pw, k, true}, y.data(), n); };
  auto raw_backward = [&] {
    raw_forward();
    matmul(n, k, m, {pg, n, true}, {px, k}, dw.data(), k);
    matmul(m, k, n, {pg, n}, {pw, k}, dx.data(), k);
  };
  compare(layer.name, "dot", settings, raw_forward, [&] { (void)dot<In>(x, linear.weight); });
  compare(layer.name, "linear", settings, raw_forward, [&] { (void)linear(x); });

  core::Array* both[] = {&x.mutable_array(), &linear.weight.mutable_array()};
  auto y_named = from_vector<Batch, Pos, Out>(y, batch, pos, out);
  core::Array* end[] = {&y_named.mutable_array()};
  compare(
      layer.name, "linear backward", settings, raw_backward,
      [&] { core::value_and_grad(both, [&] { return sum<Batch, Pos, Out>(linear(x) * grad).array(); }); },
      [&] { core::value_and_grad(end, [&] { return sum<Batch, Pos, Out>(y_named * grad).array(); }); });
}

int usage() {
  fmt::print(stderr, "usage: dot_bench [--rows 1024] [--seconds 1] [--threads 0] [--case c_fc]\n");
  return 2;
}

int run(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; i += 2) {
    std::string_view option = words[i];
    if (i + 1 == count) return usage();
    const char* value = words[i + 1];
    if (option == "--rows")
      settings.rows = std::max(4LL, std::atoll(value) / 4 * 4);
    else if (option == "--seconds")
      settings.seconds = std::atof(value);
    else if (option == "--threads")
      settings.threads = std::atoll(value);
    else if (option == "--case")
      settings.only = value;
    else
      return usage();
  }
  core::initialize(static_cast<int>(settings.threads));
  bool any = false;
  for (const auto& layer : kLayers) {
    if (!settings.only.empty() && settings.only != layer.name) continue;
    bench(layer, settings);
    any = true;
  }
  return any ? 0 : usage();
}

}  // namespace
}  // namespace bora

int main(int argc, char** argv) { return bora::run(argc, argv); }
