// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What head options cost: the fused head and cross-entropy, forward and backward, with a scale, a bias and a
// soft cap against the plain head.
//
//   head_bench [--rows 1024] [--embed 512] [--vocab 32000] [--rounds 9] [--threads 0]
//
// One JSON line for each kind of head: milliseconds and the ratio to the plain head, of medians, by the clock
// and in processor time, which other programs disturb less. Each round measures every kind once, so that what
// else the machine does strikes all alike.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/grad.h"
#include "bora/core/runtime.h"

namespace bora {
namespace {

using core::Array;

constexpr std::string_view kRow[] = {"row"}, kRowEmbed[] = {"row", "embed"}, kHead[] = {"vocab", "embed"},
                           kVocab[] = {"vocab"};

struct Settings {
  std::int64_t rows = 1024, embed = 512, vocab = 32000, rounds = 9, threads = 0;
};

struct Head {
  explicit Head(const Settings& s)
      : hidden(normal(1, kRowEmbed, {s.rows, s.embed})),
        weight(normal(2, kHead, {s.vocab, s.embed}, 1 / std::sqrt(static_cast<double>(s.embed)))),
        bias(normal(3, kVocab, {s.vocab})),
        weights(core::ones({kRow, std::vector{s.rows}})) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < s.rows; ++i) ids.push_back(static_cast<std::int32_t>(i * 37 % s.vocab));
    targets = core::from_data({kRow, std::vector{s.rows}}, std::span<const std::int32_t>(ids));
  }
  static Array normal(std::uint64_t seed, core::Names names, std::vector<std::int64_t> sizes,
                      double deviation = 1) {
    return core::random_normal(Key::from_seed(seed), {names, sizes}, 0, deviation);
  }
  void run(const core::HeadOptions& options) {
    const std::vector<Array*> parameters{&hidden, &weight, &bias};
    core::value_and_grad(parameters, [&] {
      return core::linear_cross_entropy({hidden, kRowEmbed}, {weight, kHead}, {targets, kRow},
                                        {weights, kRow}, {.head = options})
          .loss;
    });
  }
  Array hidden, weight, bias, weights, targets;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void run(const Settings& settings) {
  Head head(settings);
  struct Kind {
    std::string_view name;
    core::HeadOptions options;
    std::vector<double> seconds = {}, processor = {};
    void measure(Head& head) {
      const double started = monotonic_seconds();
      const std::clock_t ticks = std::clock();
      head.run(options);
      processor.push_back(static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC);
      seconds.push_back(monotonic_seconds() - started);
    }
  };
  std::vector<Kind> kinds{{"plain", {}},
                          {"plain again", {}},
                          {"scale", {.logit_scale = 0.125}},
                          {"bias", {.bias = head.bias}},
                          {"soft cap", {.soft_cap = 30}},
                          {"all three", {.logit_scale = 0.125, .soft_cap = 30, .bias = head.bias}}};
  for (auto& kind : kinds) head.run(kind.options);  // the first touches memory and caches
  for (std::int64_t round = 0; round < settings.rounds; ++round)
    for (auto& kind : kinds) kind.measure(head);
  const double plain = median(kinds[0].seconds), plain_processor = median(kinds[0].processor);
  for (const auto& kind : kinds) {
    const double wall = median(kind.seconds), processor = median(kind.processor);
    fmt::print(R"({{"head": "{}", "rows": {}, "embed": {}, "vocab": {}, "ms": {:.1f}, "ratio": {:.4f}, )"
               R"("processor_ms": {:.1f}, "processor_ratio": {:.4f}}})"
               "\n",
               kind.name, settings.rows, settings.embed, settings.vocab, wall * 1e3, wall / plain,
               processor * 1e3, processor / plain_processor);
  }
}

}  // namespace
}  // namespace bora

int main(int argc, char** argv) {
  bora::Settings settings;
  const auto whole = [&](int i, std::int64_t& to) { to = std::strtoll(argv[i + 1], nullptr, 10); };
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--rows") whole(i, settings.rows);
    if (flag == "--embed") whole(i, settings.embed);
    if (flag == "--vocab") whole(i, settings.vocab);
    if (flag == "--rounds") whole(i, settings.rounds);
    if (flag == "--threads") whole(i, settings.threads);
  }
  bora::core::initialize(static_cast<int>(settings.threads));
  bora::run(settings);
}
