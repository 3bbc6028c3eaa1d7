// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora bench workers`: a training step of several workers, and what each of them holds.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/bench_models.h"
#include "bora/cli/commands.h"
#include "bora/core/runtime.h"
#include "bora/mesh/mpi_plugin.h"
#include "bora/optim/adam.h"
#include "bora/run/hooks/timeline.h"
#include "bora/train/reduction.h"
#include "bora/train/trainer.h"

namespace bora::cli {
namespace {

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

// Of this worker, at rest between two steps.
struct Held {
  double parameters_mb = 0, optimizer_mb = 0, peak_rss_mb = 0;
};

Held held_by(const std::vector<core::Parameter>& parameters, const optim::Optimizer& optimizer) {
  std::int64_t parameter_bytes = 0, state_bytes = 0;
  for (const auto& p : parameters) parameter_bytes += p.array->numel() * 4;
  for (const auto& a : optimizer.state())
    state_bytes += a.array.numel() * static_cast<std::int64_t>(core::bytes(a.array.dtype()));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {megabytes(parameter_bytes), megabytes(state_bytes), static_cast<double>(usage.ru_maxrss) / 1024};
}

}  // namespace

int run_bench_workers(const Arguments& arguments) {
  std::string name = "gpt2-124m", trace;
  std::int64_t batch = 8, seq = 256, steps = 5, threads = 1, lanes = 8;
  bool whole = false, fast = false;
  Args args(
      "bench workers",
      "Time training steps of the workers that a launcher started, and say what each holds; one JSON line.",
      "  mpirun -n 2 --bind-to core bora bench workers --model gpt2-124m --batch 8 --lanes 2");
  args.option("--model", name, join(bench_model_names())).one_of(bench_model_names());
  args.option("--batch", batch, kSize, "sequences of all workers together");
  args.option("--seq", seq, kSize, "tokens per sequence");
  args.option("--lanes", lanes, kSize, "parts of the batch, a power of two");
  args.option("--steps", steps, kSize, "steps to time, after one to warm up");
  args.option("--threads", threads, kThreads, "of each worker");
  args.option("--trace", trace, "file for a timeline of the timed steps (chrome://tracing, ui.perfetto.dev)");
  args.flag("--whole", whole, "every worker holds all parameters; else they are sharded");
  args.flag("--fast", fast, "sums by the library's own all-reduce (trainer.reduction: fast); with --whole");
  args.parse({arguments.begin() + 1, arguments.end()});
  require_tokens(batch, seq);
  std::shared_ptr<mesh::Communicator> workers = mesh::make_communicator(mesh::launch_environment());
  core::initialize(static_cast<int>(threads));

  std::optional<mesh::ShardedParameters> sharded;
  std::optional<core::ParameterStoreScope> scope;
  if (!whole && workers->size() > 1)
    scope.emplace(sharded.emplace(workers, std::vector<std::string>{"embed"}));
  auto model = bench_model(name, seq);
  if (sharded) sharded->adopt(model->parameters());
  const auto parameters = sharded ? sharded->shards() : model->parameters();
  const optim::AdamConfig config;
  optim::Adam optimizer(config, parameters);
  train::Trainer trainer({*model,
                          optimizer,
                          optim::Schedule(config, steps + 1),
                          std::nullopt,
                          [&](std::int64_t s) { return random_batch(s, batch, seq, model->shape().vocab); },
                          {},
                          {},
                          train::make_reducer(fast ? "fast" : "fixed", workers, model->parameters(),
                                              sharded ? &*sharded : nullptr)},
                         {.total_steps = steps + 1, .lanes = lanes});
  trainer.step();
  if (!trace.empty()) run::begin_timeline(*workers);
  std::vector<double> times;
  for (std::int64_t i = 0; i < steps; ++i) {
    workers->barrier();
    times.push_back(trainer.step().seconds);
  }
  if (!trace.empty()) run::write_timeline(*workers, trace);
  const Held own = held_by(parameters, optimizer);
  std::vector<Held> all(static_cast<std::size_t>(workers->size()));
  workers->all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  if (workers->rank() != 0) return 0;
  const double step = median(times);
  Json out{{"model", name}, {"batch", batch}, {"seq", seq}, {"lanes", lanes}, {"workers", workers->size()}};
  out["sharded"] = sharded.has_value();
  out["tokens_per_s"] = static_cast<double>(batch * seq) / step;
  out["step_ms"] = step * 1e3;
  for (const Held& h : all) {
    out["parameters_mb"].push_back(h.parameters_mb);
    out["optimizer_mb"].push_back(h.optimizer_mb);
    out["peak_rss_mb"].push_back(h.peak_rss_mb);
  }
  out["cpu"] = core::runtime_info().cpu;
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace bora::cli
