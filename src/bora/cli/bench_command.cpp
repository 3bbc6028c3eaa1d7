// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora bench train`: the time of a whole training step beside the time of its matrix products alone.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/bench_models.h"
#include "bora/cli/commands.h"
#include "bora/cli/open_device.h"
#include "bora/core/device_kernels.h"
#include "bora/core/kernels/cpu/amx_matmul.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/runtime.h"
#include "bora/optim/adam.h"
#include "bora/run/run_device.h"
#include "bora/train/trainer.h"

namespace bora::cli {
namespace {

// Batch, m, n, k; a transposed, b transposed, both bfloat16.
using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, bool>;
std::map<Shape, std::int64_t>* recorded = nullptr;
constexpr int kTurns = 5;  // of whole steps and their products

void record(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const kernels::MatrixRef& a,
            const kernels::MatrixRef& b, double) {
  if (recorded != nullptr) {
    ++(*recorded)[{batch, m, n, k, a.transposed, b.transposed, a.is_bf16 && b.is_bf16}];
  }
}

std::vector<float> filled(std::int64_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.01F * static_cast<float>(i % 97);
  return v;
}

// Seconds of one product of this shape alone: the median of several.
double time_alone(const Shape& shape) {
  auto [batch, m, n, k, ta, tb, bf16] = shape;
  auto a = filled(batch * m * k), b = filled(batch * k * n), c = filled(batch * m * n);
  kernels::MatrixRef ra{a.data(), ta ? m : k, ta, bf16}, rb{b.data(), tb ? k : n, tb, bf16};
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    double started = monotonic_seconds();
    if (batch == 1) {
      kernels::matmul(m, n, k, ra, rb, c.data(), n);
    } else {
      kernels::batched_matmul(batch, m, n, k, ra, m * k, rb, k * n, c.data(), n, m * n);
    }
    times.push_back(monotonic_seconds() - started);
  }
  return median(times);
}

// Another program has the processors until a line comes.
void await_turn() {
  std::string line;
  std::getline(std::cin, line);
}

// Seconds of each step. Paced: "ready", then for every line that comes one step and a line with its seconds;
// one line more, and what comes after the steps may use the processors too.
std::vector<double> time_steps(train::Trainer& trainer, std::int64_t steps, bool paced) {
  const auto tell = [&](const std::string& line) {
    if (!paced) return;
    fmt::print("{}\n", line);
    std::fflush(stdout);
    await_turn();
  };
  std::vector<double> times;
  tell("ready");
  for (std::int64_t i = 0; i < steps; ++i) {
    times.push_back(trainer.step().seconds);
    tell(fmt::format("{}", times.back()));
  }
  return times;
}

using kernels::MatmulKernel;
constexpr std::array<std::pair<std::string_view, MatmulKernel>, 4> kProducts = {{
    {"automatic", MatmulKernel::automatic},
    {"mkl", MatmulKernel::mkl},
    {"bora", MatmulKernel::bora},
    {"amx", MatmulKernel::amx},
}};

std::vector<std::string> products_names() {
  std::vector<std::string> out;
  for (const auto& [name, kernel] : kProducts) out.emplace_back(name);
  return out;
}

// One of those names.
void use_products(const std::string& name) {
  const auto* found =
      std::find_if(kProducts.begin(), kProducts.end(), [&](const auto& one) { return one.first == name; });
  if (found->second == MatmulKernel::amx && !kernels::amx_matmul_works()) {
    fail(ErrorKind::Usage,
         "--matmul is amx, and this CPU has no matrix units, or BORA_CPU_TARGET caps them\nhint: --matmul "
         "bora");
  }
  kernels::set_matmul_kernel(found->second);
}

// The products of a step, each alone, beside whole steps.
struct Products {
  double share = 0;                 // of a step
  std::map<Shape, double> seconds;  // of one product of each shape
};

// Steps and their products in turn: the speed of a machine may change within a minute, and is the same for
// both.
Products time_products(train::Trainer& trainer, const std::map<Shape, std::int64_t>& shapes) {
  std::map<Shape, std::vector<double>> alone;
  std::vector<double> shares;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double step = trainer.step().seconds;
    double all = 0;
    for (const auto& [shape, count] : shapes) {
      alone[shape].push_back(time_alone(shape));
      all += alone[shape].back() * static_cast<double>(count);
    }
    shares.push_back(all / step);
  }
  Products out{.share = median(shares), .seconds = {}};
  for (auto& [shape, seconds] : alone) out.seconds[shape] = median(seconds);
  return out;
}

double flops(const std::map<Shape, std::int64_t>& shapes) {
  double total = 0;
  for (const auto& [s, count] : shapes) {
    auto [batch, m, n, k, ta, tb, bf16] = s;
    total += 2.0 * static_cast<double>(batch * m * n * k * count);
  }
  return total;
}

// Of one that is not the CPU.
void tell_device(Json& out) {
  const auto device = core::default_device();
  if (device == core::Device()) return;
  out["device"] = core::description(device);
  out["peak_device_mb"] = static_cast<double>(core::device_memory(device).peak) / (1024 * 1024);
}

void require_fp8() {
  if (const auto why = run::why_no_fp8(core::default_device()); !why.empty())
    fail(ErrorKind::Usage, "--compute is fp8: {}", why);
}

void tell_one_step(train::Trainer& trainer, const std::string& model, std::int64_t tokens) {
  const double started = monotonic_seconds();
  trainer.step();
  const double step = monotonic_seconds() - started;
  Json out{{"model", model}, {"tokens", tokens}};
  out["tokens_per_s"] = static_cast<double>(tokens) / step;
  out["step_ms"] = step * 1e3;
  out["peak_rss_mb"] = largest_memory_mb();
  out["arrays_peak_mb"] = static_cast<double>(core::memory_info().peak_live) / (1024 * 1024);
  out["threads"] = core::runtime_info().threads;
  out["cpu"] = core::runtime_info().cpu;
  tell_device(out);
  fmt::print("{}\n", out.dump());
}

}  // namespace

int run_bench(const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "workers") return run_bench_workers(arguments);
  if (!arguments.empty() && arguments.front() == "generate") return run_bench_generate(arguments);
  std::string what, name = "gpt2-124m", compute = "f32", matmul = "automatic";
  std::int64_t batch = 4, seq = 256, steps = 10, threads = 0, lanes = 1;
  DeviceFlag device;
  bool parts = false, paced = false, once = false;
  Args args("bench", "Time a training step (AdamW) and each matrix product of it alone; one JSON line.",
            "  bora bench train --model gpt2-124m --batch 4 --seq 256\n  bora bench train --model llama-nano "
            "--parts");
  args.positional("what", what,
                  "train, workers or generate: see bora bench workers --help and bora bench generate --help")
      .words({"train", "workers", "generate"});
  args.option("--model", name, join(bench_model_names())).one_of(bench_model_names());
  args.option("--batch", batch, kSize, "sequences");
  args.option("--seq", seq, kSize, "tokens per sequence");
  args.option("--steps", steps, kSize, "steps to time, after three to warm up");
  args.option("--threads", threads, kThreads, "0: all cores");
  args.option("--lanes", lanes, kSize, "the batch in so many passes, whose gradients are added");
  device.declare(args);
  args.option("--compute", compute,
              "f32, or bf16: parameters in fp32, the passes in bf16; fp8: of these the linear maps, on a GPU")
      .one_of({"f32", "bf16", "fp8"});
  args.option("--matmul", matmul, "whose matrix products: automatic, mkl, bora (vectors) or amx")
      .one_of(products_names());
  args.flag("--parts", parts, "also the time of each shape of product");
  args.flag("--paced", paced, "a step for each line of input, to take turns with another program");
  args.flag("--once", once, "one step and nothing else: time and memory of long sequences");
  args.parse(arguments);
  if (what != "train")
    fail(ErrorKind::Usage, "bench: {} is not one of train, workers, generate\nhint: bora bench --help", what);
  require_tokens(batch, seq);
  const bool fp8 = compute == "fp8";
  const auto computed = fp8 ? core::DType::bf16 : core::parse_dtype(compute);
  core::initialize(static_cast<int>(threads));
  const auto in_use = open_device(device, "bench");
  if (fp8) require_fp8();
  use_products(matmul);
  auto model = bench_model(name, seq);
  auto vocab = model->shape().vocab;
  const optim::AdamConfig optimizer_config;
  optim::Adam optimizer(optimizer_config, model->parameters());
  train::TrainerOptions options{.total_steps = steps + 3 + kTurns, .lanes = lanes};
  options.loss.compute = computed;
  options.fp8 = fp8;
  train::Trainer trainer({*model,
                          optimizer,
                          optim::Schedule(optimizer_config, steps + 3 + kTurns),
                          std::nullopt,
                          [&](std::int64_t s) { return random_batch(s, batch, seq, vocab); },
                          {},
                          {}},
                         options);
  if (once) {
    tell_one_step(trainer, name, batch * seq);
    return 0;
  }
  trainer.step();
  double first_step_end = seconds_since_start();
  std::map<Shape, std::int64_t> shapes;
  recorded = &shapes;
  kernels::set_matmul_observer(record);
  trainer.step();
  kernels::set_matmul_observer(nullptr);
  trainer.step();
  auto times = time_steps(trainer, steps, paced);
  double step = median(times);
  const double memory = largest_memory_mb();

  const auto products = time_products(trainer, shapes);
  double peak = 0;  // flops/s of the fastest
  for (const auto& [shape, count] : shapes) {
    const double each = products.seconds.at(shape);
    auto [b, m, n, k, ta, tb, bf16] = shape;
    peak = std::max(peak, 2.0 * static_cast<double>(b * m * n * k) / each);
    if (parts) {
      fmt::print("{:>4} x [{:>6} x {:>6} x {:>6}]{}{}{}  {:8.3f} ms  {:6.1f} GF/s\n", count * b, m, n, k,
                 ta ? " ta" : "   ", tb ? " tb" : "   ", bf16 ? " bf16" : "", each * 1e3,
                 2e-9 * static_cast<double>(b * m * n * k) / each);
    }
  }
  std::sort(times.begin(), times.end());
  auto info = core::runtime_info();
  Json out;
  out["model"] = name;
  out["batch"] = batch;
  out["seq"] = seq;
  out["tokens_per_s"] = static_cast<double>(batch * seq) / step;
  out["step_ms"] = step * 1e3;
  out["step_ms_p95"] = times[std::min(times.size() - 1, times.size() * 95 / 100)] * 1e3;
  out["peak_rss_mb"] = memory;
  auto arrays = core::memory_info();
  out["arrays_peak_mb"] = static_cast<double>(arrays.peak_live) / (1024 * 1024);
  out["arrays_reserved_mb"] = static_cast<double>(arrays.reserved) / (1024 * 1024);
  out["start_up_s"] = first_step_end - step;
  if (!shapes.empty()) {  // a device's products are not seen one by one
    out["matmul_share"] = products.share;
    out["mfu"] = flops(shapes) / step / peak;  // of the rate that the fastest product reaches here
    out["gflops_per_s"] = flops(shapes) / step * 1e-9;
  }
  tell_device(out);
  out["compute"] = compute;
  out["kernel_path"] = info.matmul + " " + info.simd_target;
  out["threads"] = info.threads;
  out["cpu"] = info.cpu;
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace bora::cli
