// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora bench generate`: tokens a second of prompts read and of texts written, beside what memory allows.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/bench_models.h"
#include "bora/cli/commands.h"
#include "bora/cli/weights_flag.h"
#include "bora/core/kernels/cpu/square_sum.h"
#include "bora/core/runtime.h"
#include "bora/infer/generate.h"
#include "bora/nn/stored_weights.h"

namespace bora::cli {
namespace {

// Bytes a second that all threads read together out of memory: the best of several times.
double read_bandwidth() {
  const std::vector<float> much(std::size_t{1} << 27, 1.0F);  // 512 MiB, beyond any cache
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double started = monotonic_seconds();
    kernels::max_abs(std::ssize(much), much.data());
    best = std::max(best, static_cast<double>(much.size() * 4) / (monotonic_seconds() - started));
  }
  return best;
}

std::vector<infer::Request> requests(const nn::LanguageModel& model, std::int64_t batch, std::int64_t prompt,
                                     std::int64_t tokens) {
  const auto ids = random_batch(0, batch, prompt, model.shape().vocab).tokens;
  std::vector<infer::Request> out;
  for (auto at = ids.begin(); at != ids.end(); at += prompt)
    out.push_back({{at, at + prompt}, {.max_new_tokens = tokens, .sampling = {.temperature = 0}}});
  return out;
}

struct Times {
  double reading = 0, writing = 0;  // seconds: until each text has a token; from then on
};

Times time_once(const nn::LanguageModel& model, const std::vector<infer::Request>& all) {
  std::size_t seen = 0;
  Times out;
  const double started = monotonic_seconds();
  infer::generate_all(model, all, [&](std::size_t, std::int32_t) {
    if (++seen == all.size()) out.reading = monotonic_seconds() - started;
    return true;
  });
  out.writing = monotonic_seconds() - started - out.reading;
  return out;
}

// A turn for each line of input, whose seconds are told at once: between them another program works.
void take_turns(const nn::LanguageModel& model, const std::vector<infer::Request>& all) {
  const auto tell = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  tell("ready");
  for (std::string line; std::getline(std::cin, line);) {
    const auto times = time_once(model, all);
    tell(Json{{"prompts_s", times.reading}, {"texts_s", times.writing}}.dump());
  }
}

}  // namespace

int run_bench_generate(const Arguments& arguments) {
  std::string name = "llama-125m";
  std::int64_t batch = 1, prompt = 256, tokens = 65, turns = 3, threads = 0;
  bool paced = false;
  Args args("bench generate", "Time the reading of prompts and the writing of texts; one JSON line.",
            "  bora bench generate --model llama-125m --batch 8");
  args.option("--model", name, join(bench_model_names())).one_of(bench_model_names());
  args.option("--batch", batch, kSize, "texts that are written together");
  args.option("--prompt", prompt, kSize, "tokens of each prompt");
  args.option("--tokens", tokens, from_to(2, 0x7FFFFFFF), "new tokens of each text");
  args.option("--turns", turns, kSize, "times to measure, after one to warm up; medians are told");
  WeightsFlag weights;
  weights.declare(args);
  args.option("--threads", threads, kThreads, "0: all cores");
  args.flag("--paced", paced, "a turn for each line of input, to take turns with another program");
  args.parse({arguments.begin() + 1, arguments.end()});
  require_tokens(batch, prompt + tokens);
  const auto type = weights.type("bench generate");
  core::initialize(static_cast<int>(threads));
  const auto model = bench_model(name, prompt + tokens);
  nn::store_weights(*model, type);
  const auto all = requests(*model, batch, prompt, tokens);
  time_once(*model, all);
  const double memory = largest_memory_mb();  // before the much that measures the bandwidth
  if (paced) {
    take_turns(*model, all);
    return 0;
  }
  std::vector<double> reading, writing, bandwidths;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    bandwidths.push_back(read_bandwidth());
    const auto times = time_once(*model, all);
    reading.push_back(times.reading);
    writing.push_back(times.writing);
  }
  const auto steps = static_cast<double>(tokens - 1);
  const double step = median(writing) / steps, bandwidth = median(bandwidths);
  const auto bytes = static_cast<double>(nn::weight_bytes_of_a_token(*model));
  Json out{{"model", name},
           {"weights", core::name(type)},
           {"batch", batch},
           {"prompt", prompt},
           {"tokens", tokens}};
  out["prompt_tokens_per_s"] = static_cast<double>(batch * prompt) / median(reading);
  out["tokens_per_s"] = static_cast<double>(batch) / step;
  out["step_ms"] = step * 1e3;
  out["mb_read_per_token"] = bytes * 1e-6 / static_cast<double>(batch);
  out["peak_rss_mb"] = memory;
  out["memory_gb_per_s"] = bandwidth * 1e-9;
  out["share_of_memory_bandwidth"] = bytes / step / bandwidth;
  out["threads"] = core::runtime_info().threads;
  out["cpu"] = core::runtime_info().cpu;
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace bora::cli
