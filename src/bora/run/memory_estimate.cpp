// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/memory_estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bora/base/text.h"
#include "bora/core/cross_entropy.h"
#include "bora/run/device_estimate.h"
#include "bora/run/machine.h"

namespace bora::run {
namespace {

// Resident size of `bora version`: mostly libtorch.
constexpr double kProcessBytes = 120e6;
// What is that much more than there is fails, however rough the estimate of activations.
constexpr double kSurelyTooMuch = 1.5;

// Values kept for the backward pass, per token and layer: inputs of two norms and their outputs, q, k, v and
// the attention's output, the MLP's inner values.
double values_of_block(const nn::ModelShape& s) {
  double attention = static_cast<double>((2 * s.heads + 2 * s.kv_heads) * s.head_dim);
  double inner = static_cast<double>(s.mlp) * (s.gated_mlp ? 3 : 2);
  return 5.0 * static_cast<double>(s.hidden) + attention + inner;
}

// The same for all layers: a recomputed block keeps its input, and all of its values while it is recomputed.
double values_of_layers(const nn::ModelShape& s, const nn::RematPolicy& policy, bool elsewhere) {
  double layers = static_cast<double>(s.layers), hidden = static_cast<double>(s.hidden);
  double block = values_of_block(s);
  switch (policy.kind) {
    case nn::RematPolicy::Kind::none:
      return layers * block;
    case nn::RematPolicy::Kind::full:
      return layers * hidden + block;
    case nn::RematPolicy::Kind::offload:
      if (!elsewhere) return layers * hidden + block;
      return std::min(layers, 2.0) * hidden + block;  // the one that is computed, and the one that comes back
    case nn::RematPolicy::Kind::every: {
      double recomputed = std::ceil(layers / static_cast<double>(policy.every));
      return recomputed * hidden + (layers - recomputed) * block + block;
    }
    case nn::RematPolicy::Kind::nested: {
      double group = static_cast<double>(nn::nested_group(s.layers));
      return (layers / group + group) * hidden + block;
    }
  }
  return layers * block;
}

}  // namespace

std::int64_t EstimateOptions::positions_of_head() const {
  const auto device = on_device ? core::Device::Type::cuda : core::Device::Type::cpu;
  return chunk.value_or(core::head_chunk(device, compute, vocab));
}

SizeEstimate estimate_sizes(const models::ModelConfig& config, const EstimateOptions& options) {
  auto s = config.shape(options.vocab);
  double element = static_cast<double>(core::bytes(options.compute));
  SizeEstimate out;
  const auto count = config.parameter_count(options.vocab);
  out.parameters = options.parameters.value_or(ParameterCounts{count, count});
  const double all = static_cast<double>(out.parameters.all);
  const double trained = static_cast<double>(out.parameters.trained);
  // In another dtype than fp32, a copy of the parameters and the gradients of that copy.
  const double copy = options.compute == core::DType::f32 ? 0 : element;
  out.process_bytes = kProcessBytes;
  out.parameter_bytes = (4 + copy) * all;
  out.gradient_bytes = (4 * (1 + std::log2(static_cast<double>(options.lanes))) + copy) * trained;
  out.optimizer_bytes = options.state_bytes.value_or(8 * trained);
  out.checkpoint_bytes = 4 * all + out.optimizer_bytes;
  const std::int64_t sequences = options.batch / options.lanes;
  out.lane_sequences = sequences;
  const double tokens = static_cast<double>(sequences) * static_cast<double>(s.seq_len);
  const double logits =  // of one chunk of the head
      std::min(tokens, static_cast<double>(options.positions_of_head())) * static_cast<double>(options.vocab);
  out.activation_bytes =
      element * tokens * (values_of_layers(s, config.remat(), options.on_device) + s.values_outside_layers) +
      4 * logits;
  if (!options.on_device) return out;
  out.workspace_bytes = static_cast<double>(options.extras.of_each_stream) * (options.graphs ? 2 : 1);
  out.beside_bytes = static_cast<double>(options.extras.beside);
  estimate_lane_on_device(out, s, config.remat(), options);
  if (config.remat().kind == nn::RematPolicy::Kind::offload)
    out.pinned_bytes = element * tokens * static_cast<double>((s.layers - 1) * s.hidden);
  return out;
}

MemoryPlace memory_of_machine() { return {"this machine", machine_memory()}; }

std::optional<MemoryProblem> memory_problem(const SizeEstimate& sizes, std::int64_t workers,
                                            const MemoryPlace& place) {
  // One gradient, whatever the lanes.
  const double sure =
      sizes.parameter_bytes + 4 * static_cast<double>(sizes.parameters.trained) + sizes.optimizer_bytes;
  const double share = 1 / static_cast<double>(workers);
  const auto or_elsewhere = place.way_out.empty() ? "" : ", or " + place.way_out;
  if (sure * share > place.bytes) {
    return MemoryProblem{
        "model",
        fmt::format(
            "{} parameters, their gradients and the optimizer's state take {} {}, and {} has {}; take a smaller "
            "model, or more workers{}{}",
            human_count(static_cast<double>(sizes.parameters.all)), human_bytes(sure * share),
            workers == 1 ? "alone" : "of each worker", place.name, human_bytes(place.bytes),
            place.is_device ? ", each with a device of its own" : " on more machines", or_elsewhere)};
  }
  // Axes of the mesh may divide the activations too.
  if ((sure + sizes.activation_bytes) * share <= kSurelyTooMuch * place.bytes) return std::nullopt;
  return MemoryProblem{
      "trainer.train_batch_size",
      fmt::format(
          "the activations of a lane of {} sequences take about {} beside {} for the parameters and what they are trained "
          "with, and {} has {}; take a smaller batch, more trainer.lanes, shorter sequences, or "
          "model.gradient_checkpointing{}",
          with_commas(sizes.lane_sequences), human_bytes(sizes.activation_bytes), human_bytes(sure),
          place.name, human_bytes(place.bytes), or_elsewhere)};
}

}  // namespace bora::run
