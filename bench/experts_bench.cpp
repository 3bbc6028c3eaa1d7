// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What routing costs: a layer of experts, forward and backward, against a dense gated MLP that multiplies as
// much, which is as wide as the experts of one token together.
//
//   experts_bench [--tokens 2048] [--embed 512] [--mlp 1024] [--per_token 2] [--rounds 9] [--threads 0]
//
// One JSON line for each number of experts: milliseconds and the ratio to the dense MLP, of medians, by the
// clock and in processor time. `mlp` is the width of one expert. Each round measures every layer once.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/core/runtime.h"
#include "bora/named/create.h"
#include "bora/named/grad.h"
#include "bora/named/ops.h"
#include "bora/nn/experts.h"
#include "bora/nn/mlp.h"

namespace bora {
namespace {

struct Token : axis<"token"> {};
struct Embed : axis<"embed"> {};
struct Mlp : axis<"mlp"> {};
struct Expert : axis<"expert"> {};

struct Settings {
  std::int64_t tokens = 2048, embed = 512, mlp = 1024, per_token = 2, rounds = 9, threads = 0;
};

using Dense = nn::GatedMlp<Embed, Mlp>;
using Routed = nn::Experts<Expert, Embed, Mlp>;

struct Layer {
  std::string name;
  std::function<void()> step;
  std::vector<double> seconds = {}, processor = {};

  void measure() {
    const double started = monotonic_seconds();
    const std::clock_t ticks = std::clock();
    step();
    processor.push_back(static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC);
    seconds.push_back(monotonic_seconds() - started);
  }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void run(const Settings& s) {
  const Dim<Embed> embed{s.embed};
  const double std = 1 / std::sqrt(static_cast<double>(s.embed));
  const auto x = random_normal(Key::from_seed(1), 0, 1, Dim<Token>{s.tokens}, embed);
  auto dense =
      Dense::init(embed, Dim<Mlp>{s.mlp * s.per_token}, Key::from_seed(2), std, core::Activation::silu);
  std::vector<Layer> layers{
      {"dense", [&] { value_and_grad(dense, [&](const Dense& m) { return total(square(m(x))); }); }}};
  std::vector<std::unique_ptr<Routed>> routed;
  for (const std::int64_t experts : {8, 64}) {
    routed.push_back(std::make_unique<Routed>(
        Routed::init(Dim<Expert>{experts}, embed, Dim<Mlp>{s.mlp}, Key::from_seed(3), std)));
    auto& layer = *routed.back();
    layer.per_token = s.per_token;
    layers.push_back({std::to_string(experts) + " experts", [&layer, &x, experts] {
                        value_and_grad(layer, [&](const Routed& m) {
                          auto sums = nn::RouterSums::none(Dim<nn::Candidate>{experts});
                          return total(square(m(x, {}, sums)));
                        });
                      }});
  }
  for (auto& layer : layers) layer.step();  // the first touches memory and caches
  for (std::int64_t round = 0; round < s.rounds; ++round)
    for (auto& layer : layers) layer.measure();
  const double dense_seconds = median(layers[0].seconds), dense_processor = median(layers[0].processor);
  for (const auto& layer : layers) {
    const double wall = median(layer.seconds), processor = median(layer.processor);
    fmt::print(R"({{"layer": "{}", "tokens": {}, "embed": {}, "mlp": {}, "per_token": {}, "ms": {:.1f}, )"
               R"("ratio": {:.3f}, "processor_ms": {:.1f}, "processor_ratio": {:.3f}}})"
               "\n",
               layer.name, s.tokens, s.embed, s.mlp, s.per_token, wall * 1e3, wall / dense_seconds,
               processor * 1e3, processor / dense_processor);
  }
}

}  // namespace
}  // namespace bora

int main(int argc, char** argv) {
  bora::Settings settings;
  const auto whole = [&](int i, std::int64_t& to) { to = std::strtoll(argv[i + 1], nullptr, 10); };
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--tokens") whole(i, settings.tokens);
    if (flag == "--embed") whole(i, settings.embed);
    if (flag == "--mlp") whole(i, settings.mlp);
    if (flag == "--per_token") whole(i, settings.per_token);
    if (flag == "--rounds") whole(i, settings.rounds);
    if (flag == "--threads") whole(i, settings.threads);
  }
  bora::core::initialize(static_cast<int>(settings.threads));
  bora::run(settings);
}
