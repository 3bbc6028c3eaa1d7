// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/config.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::train {

void MixedPrecision::bind(Binder& b, std::string_view name) {
  if (!b.reading()) {
    auto text = fmt::format("p=f32,c={}", core::name(compute));
    b.field(name, text, "dtypes of parameters (p), computation (c) and output (o)");
    return;
  }
  auto text = b.text(name);
  if (!text) return;
  b.mark_used(name);
  try {
    for (const auto& part : split(*text, ',')) {
      auto piece = std::string(trim(part));
      auto equals = piece.find('=');
      auto key = equals == std::string::npos ? "c" : piece.substr(0, equals);
      auto dtype = core::parse_dtype(equals == std::string::npos ? piece : piece.substr(equals + 1));
      if (key == "c" || key == "compute")
        compute = dtype;
      else if (key != "p" && key != "params" && key != "o" && key != "output")
        b.problem(name, fmt::format("{} is not one of p, c, o", key));
    }
    if (compute != core::DType::f32 && compute != core::DType::bf16)
      b.problem(name,
                fmt::format("computing in {} is not supported; use f32 or bfloat16", core::name(compute)));
  } catch (const Error& e) {
    b.problem(name, e.what());
  }
}

namespace {

void bind_accelerator_keys(Binder& b) {
  constexpr std::string_view kMesh = "one worker: there is nothing to shard over";
  for (const char* key :
       {"batch_axis", "fsdp_axis", "tensor_parallel_axes", "axis_resources", "parameter_axis_resources",
        "model_axis_size", "replica_ici_axis_size", "replica_dcn_axis_size", "mesh"}) {
    b.ignored(key, kMesh);
  }
  b.ignored("per_device_parallelism", "a lane is the unit of gradient accumulation: trainer.lanes");
  b.ignored("per_device_eval_parallelism", "evaluation takes small batches");
  b.ignored("allow_nondivisible_batch_size", "lanes adapt to each batch");
  b.ignored("require_accelerator", "runs on the CPU");
  b.ignored("jax_config", "nothing is compiled at run time");
  b.ignored("jax_compilation_cache_dir", "nothing is compiled at run time");
  b.ignored("distributed", "one worker");
  b.ignored("ray", "one worker");
  b.ignored("quantization", "not built yet");
  b.ignored("model_averaging", "not built yet");
  b.ignored("watch", "not built yet");
  b.ignored("profiler", "not built yet");
  b.ignored("profiler_start_step", "not built yet");
  b.ignored("profiler_num_steps", "not built yet");
  b.ignored("log_jaxprs", "nothing is compiled at run time");
  b.ignored("log_xla_hlo", "nothing is compiled at run time");
  b.ignored("log_dir", "everything goes into the run directory");
  b.ignored("wandb", "metrics go to metrics.jsonl");
  b.ignored("shutdown_at_exit", "machines are not shut down");
  b.ignored("max_buffered_batches", "the loader chooses");
  b.ignored("prefetch", "the loader chooses");
  b.ignored("load_checkpoint_path", "use initialize_from");
  b.ignored("allow_partial_checkpoint", "checkpoints are complete");
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

void TrainerConfig::bind(Binder& b) {
  b.field("seed", seed, "of weights, dropout and data order");
  b.field("id", id, "name of the run");
  mp.bind(b, "mp");
  data::bind_batch_schedule(b, "train_batch_size", train_batch_size, "sequences per step");
  b.field("num_train_steps", num_train_steps, "steps in all");
  b.field("steps_per_eval", steps_per_eval, "steps between evaluations; 0: only at the end");
  b.field("max_eval_batches", max_eval_batches, "of 16 sequences, for each source");
  b.field("load_checkpoint", load_checkpoint,
          "unset: go on from a checkpoint if there is one; true: must; false: never");
  b.field("initialize_from", initialize_from, "start from the weights of a run or checkpoint, at step 0");
  b.field("checkpointer", checkpointer, "where and when to save");
  b.field("tracker", tracker, "where metrics go besides metrics.jsonl");
  b.field("crash_on_nan", crash_on_nan, "stop when the loss is not a number");
  b.field("crash_on_inf", crash_on_inf, "stop when the loss is infinite");
  b.field("lanes", lanes, "fixed parts of the batch, a power of two; part of the bits of a run");
  b.choice("reduction", reduction, {"fixed", "fast"}, "how lanes of several workers are summed");
  b.field("stop_at_step", stop_at_step, "stop there as an interrupt would");
  b.field("threads", threads, "0: all cores; never changes a result");
  bind_accelerator_keys(b);
  if (!b.reading()) return;
  if (num_train_steps < 0)
    b.problem("num_train_steps", fmt::format("is {}; it must not be negative", num_train_steps));
  if (steps_per_eval < 0)
    b.problem("steps_per_eval", fmt::format("is {}; it must not be negative", steps_per_eval));
  if (threads < 0) b.problem("threads", fmt::format("is {}; it must not be negative", threads));
  if (lanes && !is_power_of_two(*lanes))
    b.problem("lanes", fmt::format("is {}; it must be a power of two", *lanes));
  if (lanes && is_power_of_two(*lanes) && train_batch_size.batch_size(0) % *lanes != 0) {
    b.problem("lanes", fmt::format("{} must divide {} = {}", *lanes, b.path("train_batch_size"),
                                   train_batch_size.batch_size(0)));
  }
}

std::int64_t resolve_lanes(const TrainerConfig& config, std::int64_t batch_size,
                           std::int64_t tokens_per_sequence) {
  if (config.lanes) return *config.lanes;
  std::int64_t lanes = 1;
  while (lanes < 8 && batch_size % (lanes * 2) == 0 && batch_size / (lanes * 2) * tokens_per_sequence >= 1024)
    lanes *= 2;
  return lanes;
}

}  // namespace bora::train
