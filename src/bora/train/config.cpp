// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/config.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/home_path.h"
#include "bora/base/text.h"

namespace bora::train {

std::string device_meant_by(std::string_view word) {
  const std::vector<std::string> known = {"auto", "cpu", "cuda"};
  const auto lower = ascii_lower(word);
  return did_you_mean(lower.starts_with("gpu") || lower.starts_with("cuda") ? "cuda" : lower, known);
}

namespace {

std::optional<core::DType> known_dtype(std::string_view word) {
  try {
    return core::parse_dtype(word);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The parts of a policy: "p=f32,c=bfloat16", or "bfloat16" alone, which is what is computed in.
struct Policy {
  std::optional<core::DType> parameters, compute, output;

  std::optional<core::DType>* part(std::string_view key) {
    if (key == "p" || key == "params") return &parameters;
    if (key == "c" || key == "compute") return &compute;
    if (key == "o" || key == "output") return &output;
    return nullptr;
  }
  void read(Binder& b, std::string_view name, std::string_view text) {
    const auto equals = text.find('=');
    const bool alone = equals == std::string_view::npos;
    const auto key = alone ? std::string_view("c") : trim(text.substr(0, equals));
    const auto word = trim(alone ? text : text.substr(equals + 1));
    const auto dtype = known_dtype(word);
    auto* const place = part(key);
    if (!dtype)
      b.problem(name, fmt::format("{} is no dtype to train in; f32, bf16, or p=f32,c=bf16", word));
    else if (place == nullptr)
      b.problem(name, fmt::format("{} is not one of p (parameters), c (compute), o (output)", key));
    else if (place->has_value())
      b.problem(name, fmt::format("gives {} twice: {} and {}", key, core::name(**place), core::name(*dtype)));
    else
      *place = dtype;
  }
};

}  // namespace

void MixedPrecision::bind(Binder& b, std::string_view name) {
  auto text = fmt::format("p=f32,c={}", core::name(compute));
  if (b.reading() && !b.present(name)) return;
  b.field(name, text, "dtypes of parameters (p), computation (c) and output (o)");
  if (!b.reading()) return;
  Policy policy;
  for (const auto& part : split(text, ',')) policy.read(b, name, trim(part));
  compute = policy.compute.value_or(compute);
  for (const auto& [key, dtype] : {std::pair("p", policy.parameters), std::pair("o", policy.output)})
    if (dtype && *dtype != core::DType::f32)
      b.ignored(name, fmt::format("{}={}: parameters and losses are kept in f32; c says what is computed in",
                                  key, core::name(*dtype)));
  if (compute != core::DType::f32 && compute != core::DType::bf16)
    b.problem(name, fmt::format("computing in {} is not supported; use f32 or bf16", core::name(compute)));
}

void PeakFlops::bind(Binder& b, std::string_view name) {
  auto text = per_second ? fmt::format("{}", *per_second) : std::string("auto");
  b.field(name, text,
          "floating-point operations a second of all workers together, of which throughput/mfu is a share: a "
          "number such as 1.2e12, or auto: of a matrix product, measured at the first start");
  if (!b.reading() || b.is_null(name)) return;
  per_second.reset();
  if (text == "auto") return;
  const auto number = parse_double(text);
  if (number && *number > 0 && *number < 1e30)
    per_second = number;
  else
    b.problem(name, "must be auto or a number above 0: operations in a second, such as 1.2e12");
}

namespace {

struct IgnoredKey {
  std::string_view name, why;
};

constexpr std::string_view kLanes = "workers share the lanes of a batch";
constexpr std::string_view kLauncher = "workers are started by mpirun; see the guide";
constexpr std::string_view kNoCompiler = "nothing is compiled at run time";
constexpr std::string_view kNotBuilt = "not built yet; it does not change the training";
constexpr std::string_view kOpenIt = "ui.perfetto.dev and chrome://tracing open the file";

/// Keys of Levanter's TrainerConfig that Bora reads without using them.
constexpr IgnoredKey kIgnored[] = {
    {"batch_axis", kLanes},
    {"use_explicit_mesh_axes", kLanes},
    {"distributed", kLauncher},
    {"ray", kLauncher},
    {"elastic", kLauncher},
    {"per_device_eval_parallelism",
     "evaluation takes small batches of its own; but max_eval_batches counts batches of 16 sequences, in Levanter of "
     "this many on each device"},
    {"allow_nondivisible_batch_size", "lanes adapt to each batch"},
    {"require_accelerator", "trainer.device says where the run computes"},
    {"shutdown_at_exit", "machines are not shut down"},
    {"jax_config", kNoCompiler},
    {"jax_compilation_cache_dir", kNoCompiler},
    {"log_jaxprs", kNoCompiler},
    {"log_xla_hlo", kNoCompiler},
    {"log_dir", "everything goes into the run directory"},
    {"allow_partial_checkpoint", "a checkpoint is complete or it is not loaded"},
    {"model_averaging", "not built yet: evaluation and exports use the parameters themselves"},
    {"watch", kNotBuilt},
    {"profiler_perfetto_link", kOpenIt},
};

/// A key that would change what is trained: leaving it out silently is worse than stopping.
void refuse(Binder& b, std::string_view name, std::string_view what_to_do) {
  if (!b.reading()) return;
  if (b.present(name) && !b.is_null(name)) b.problem(name, std::string(what_to_do));
  b.mark_used(name);
}

/// train_batch_size: -1 leaves it to per_device_parallelism. Levanter multiplies that by the workers that share a batch;
/// here no result depends on their number.
void bind_batch_size(Binder& b, TrainerConfig& t) {
  b.field(
      "per_device_parallelism", t.per_device_parallelism, or_else(-1, kSize),
      "the batch where train_batch_size is -1, whatever the number of workers; else unused: trainer.lanes divides "
      "the batch");
  if (b.text("train_batch_size") != "-1") {
    return data::bind_batch_schedule(b, "train_batch_size", t.train_batch_size,
                                     "sequences per step, or stages [{start: step, value: sequences}, ...]");
  }
  b.mark_used("train_batch_size");
  if (t.per_device_parallelism > 0)
    t.train_batch_size = data::BatchSchedule(t.per_device_parallelism);
  else
    b.problem("train_batch_size", "is -1; that needs per_device_parallelism");
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

void check_lanes(Binder& b, const TrainerConfig& t) {
  if (!t.lanes) return;
  const auto batch = t.train_batch_size.batch_size(0);
  if (!is_power_of_two(*t.lanes)) {
    b.problem("lanes", fmt::format("is {}; it must be a power of two", *t.lanes));
  } else if (batch % *t.lanes != 0) {
    b.problem("lanes", fmt::format("{} must divide {} = {}", *t.lanes, b.path("train_batch_size"), batch));
  }
}

void check_id(Binder& b, const TrainerConfig& t) {
  if (t.id && (t.id->empty() || t.id->find('/') != std::string::npos || t.id->starts_with('.'))) {
    b.problem(
        "id",
        fmt::format("\"{}\" cannot be the name of a directory; give one without / that begins with no dot",
                    *t.id));
  }
}

// Whether the device has it is asked where the run starts.
void check_fp8(Binder& b, const TrainerConfig& t) {
  if (!t.fp8) return;
  if (t.mp.compute != core::DType::bf16) {
    b.problem("fp8",
              fmt::format("multiplies what is computed in bf16, and {} computes in {}; set {}: bf16 too, or "
                          "leave fp8 out",
                          b.path("mp"), core::name(t.mp.compute), b.path("mp")));
  }
}

// Whether there is one is asked where the run starts: the configuration may be another machine's.
void check_device(Binder& b, const TrainerConfig& t) {
  constexpr std::string_view kNumbered = "cuda:";
  const auto& word = t.device;
  // test: the device of Bora's own tests
  for (const std::string_view known : {"auto", "cpu", "cuda", "test"})
    if (word == known) return;
  if (word.starts_with(kNumbered) && parse_int(word.substr(kNumbered.size())).value_or(-1) >= 0) return;
  b.problem("device", fmt::format("is {}; it must be auto, cpu, cuda, or cuda:0, cuda:1, ...{}", word,
                                  device_meant_by(word)));
}

// A block, or true and false with two keys beside them.
void bind_profiler(Binder& b, ProfilerConfig& p) {
  const bool block = b.reading() && b.present("profiler") && !b.is_null("profiler") && !b.text("profiler");
  if (block)
    b.field("profiler", p, "");
  else
    b.field("profiler", p.enabled, "write a timeline of some steps of all workers into the run directory");
  b.field("profiler_start_step", p.start_step, kStep, "first step of the timeline");
  b.field("profiler_num_steps", p.num_steps, kSize, "steps in the timeline");
}

}  // namespace

void ProfilerConfig::bind(Binder& b) {
  b.field("enabled", enabled, "the same as profiler: true");
  b.field("start_step", start_step, kStep, "first step of the timeline");
  b.field("num_steps", num_steps, kSize, "steps in the timeline");
  b.ignored("perfetto_link", kOpenIt);
  b.ignored("process_index", "the timeline is of all workers");
  b.ignored("upload", "the timeline stays in the run directory");
}

void TrainerConfig::bind(Binder& b) {
  b.field("seed", seed, kSeed, "of weights, dropout and data order");
  b.field("id", id, "name of the run; default: RUN_ID, else made from the configuration");
  mp.bind(b, "mp");
  b.field(
      "fp8", fp8,
      "multiply linear maps in fp8 on a GPU: weights and inputs in E4M3, gradients of results in E5M2; needs mp: "
      "bf16, and compute capability 8.9");
  bind_batch_size(b, *this);
  b.field("num_train_steps", num_train_steps, kSize,
          "steps in all; more than before extend a run that has ended");
  b.field("steps_per_eval", steps_per_eval, kNonNegative, "steps between evaluations; 0: only at the end");
  b.field("max_eval_batches", max_eval_batches, kSize,
          "of 16 sequences (Levanter: of its own batches), for each source; default: all");
  b.field("load_checkpoint", load_checkpoint,
          "unset: go on from a checkpoint if there is one; true: must; false: never");
  bind_path(b, "initialize_from", initialize_from,
            "start from the weights of a run or checkpoint, at step 0");
  b.field("checkpointer", checkpointer, "where and when to save");
  b.field("tracker", tracker, "where metrics go besides metrics.jsonl");
  b.field("wandb", wandb, "older spelling of a tracker of type wandb");
  bind_profiler(b, profiler);
  b.field("crash_on_nan", crash_on_nan,
          "stop when the loss or the gradient norm is not a number; false: skip such steps");
  b.field("crash_on_inf", crash_on_inf,
          "stop when the loss or the gradient norm is infinite; false: skip such steps");
  b.field("fsdp_axis", fsdp_axis,
          "axes along which parameters, gradients and optimizer state are cut over several workers; null: "
          "whole on each; never changes a result");
  mesh.bind(b);
  b.field(
      "lanes", lanes, kSize,
      "fixed parts of the batch, a power of two; part of the bits of a run; default: what its first start "
      "needs: the largest up to 8 that divides the batch and leaves a lane 1,024 tokens, or more where "
      "more workers start it");
  b.choice("reduction", reduction, {"fixed", "fast"},
           "how lanes are summed: fixed: by one tree, with the bits of any number of workers; fast: by the "
           "library's own "
           "all-reduce, which needs trainer.fsdp_axis: null");
  b.field(
      "freeze", freeze,
      "parameters that are not trained, by path: a parameter's or a module's, with * for any characters: "
      "[embed_tokens, layers.0, \"layers.*.mlp\"]; they have no gradient, no optimizer state and no decay");
  b.field("stop_at_step", stop_at_step, kSize, "stop there as an interrupt would");
  b.field("device", device,
          "where the run computes: auto: a GPU where there is one, else the CPU; cpu; cuda; cuda:1, ...; "
          "a device's last digits are its own");
  b.field(
      "cuda_graphs", cuda_graphs,
      "on a GPU, give it each lane's forward and backward pass as one graph where that can be; never changes a "
      "result");
  b.field("threads", threads, kThreads, "0: all cores; never changes a result");
  b.field("worker_timeout", worker_timeout, Range{.least = 0, .most = 1e9, .above = true},
          "seconds after which a worker that does not answer is lost: the others stop with exit code 75");
  b.field("check_replicas_every", check_replicas_every, kNonNegative,
          "steps between comparisons of the parameters of all workers, to find a flipped bit; 0: never");
  peak_flops.bind(b, "peak_flops");
  for (const auto& key : kIgnored) b.ignored(key.name, key.why);
  refuse(b, "load_checkpoint_path",
         "is not built yet; trainer.id and trainer.checkpointer.base_path name the run to go on with, "
         "trainer.initialize_from the weights to start from");
  refuse(b, "quantization",
         "is not built yet; leave it out; trainer.fp8: true multiplies linear maps in fp8");
  if (!b.reading()) return;
  check_id(b, *this);
  check_device(b, *this);
  check_fp8(b, *this);
  check_lanes(b, *this);
}

std::vector<track::TrackerConfig> TrainerConfig::trackers() const {
  if (!wandb) return tracker;
  return {{.type = "wandb", .config = *wandb}};
}

std::optional<std::string> TrainerConfig::configured_id() const {
  if (id) return id;
  for (const auto& config : trackers()) {
    if (const auto* of = config.config.get_if<track::WandbConfig>(); of != nullptr && of->id) return of->id;
  }
  return std::nullopt;
}

std::int64_t resolve_lanes(std::int64_t batch_size, std::int64_t tokens_per_sequence, std::int64_t groups) {
  constexpr std::int64_t kMostLanes = 8, kLeastTokens = 1024;
  const auto wanted = [&](std::int64_t lanes) {
    return lanes < groups ||
           (lanes < kMostLanes && batch_size / (lanes * 2) * tokens_per_sequence >= kLeastTokens);
  };
  std::int64_t lanes = 1;
  while (batch_size % (lanes * 2) == 0 && wanted(lanes)) lanes *= 2;
  return lanes;
}

}  // namespace bora::train
