// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/device_estimate.h"

#include <algorithm>
#include <cmath>

#include "bora/core/attention_library.h"
#include "bora/core/grad.h"

namespace bora::run {
namespace {

struct Moment {
  double gradients = 0, activations = 0;
  double total() const { return gradients + activations; }
};

class Lane {
 public:
  Lane(const SizeEstimate& sizes, const nn::ModelShape& shape, const nn::RematPolicy& policy,
       const EstimateOptions& options)
      : s_(shape),
        policy_(policy),
        options_(options),
        element_(static_cast<double>(core::bytes(options.compute))),
        tokens_(static_cast<double>(sizes.lane_sequences * shape.seq_len)),
        hidden_(static_cast<double>(shape.hidden)),
        layers_(static_cast<double>(shape.layers)),
        all_(4 * static_cast<double>(sizes.parameters.all)),
        set_(4 * static_cast<double>(sizes.parameters.trained)),
        table_(std::min(set_, 4 * static_cast<double>(options.vocab) * hidden_)) {}

  Moment most() const {
    Moment out;
    for (const auto& m : {head(), last_block(), first_block(), embedding()})
      if (m.total() > out.total()) out = m;
    return out;
  }

 private:
  // Sets of sums that are alive: the tree's, into one of which a lane adds. Graphs add to one that stays; else those of
  // a first lane come with its backward pass.
  double sets() const { return std::max(1.0, std::log2(static_cast<double>(options_.lanes))); }
  bool are_there() const { return options_.graphs || options_.lanes > 1; }
  double bytes(double values) const { return element_ * tokens_ * values; }
  // Gradients that are added to such sums many at a time.
  double waiting() const {
    return are_there() ? static_cast<double>(core::most_waiting_gradients(static_cast<std::int64_t>(set_)))
                       : 0;
  }

  // Per token: what one block keeps.
  double block() const {
    const double attention = static_cast<double>((2 * s_.heads + 2 * s_.kv_heads) * s_.head_dim);
    const double floats = static_cast<double>(s_.heads + 4) * 4 / element_;  // sums of attention and of norms
    return 4 * hidden_ + attention + inner() + floats + scores();
  }
  // Of attention that drops probabilities shapes tell what the CPU's ops keep of it.
  double outside() const { return s_.drops_attention ? 0 : s_.values_outside_layers; }
  // Heads of 16 bytes, that is.
  bool takes_heads() const { return element_ == 4 || (s_.head_dim % 8 == 0 && s_.head_dim <= 256); }
  // Of attention by plain operations, a number for each pair of positions, in fp32.
  double pairs() const {
    if (!options_.keeps_scores && !s_.drops_attention && s_.scores_on_device == 0 && takes_heads()) return 0;
    const auto positions = static_cast<double>(s_.seq_len) +
                           static_cast<double>(s_.frames) / 2;  // that are heard, two frames each
    return std::max(s_.scores_on_device, 1.0) * static_cast<double>(s_.heads) * positions * 4 / element_;
  }
  double scores() const { return 2 * pairs(); }
  double visits() const { return static_cast<double>(s_.expert_visits) / layers_; }
  double inner() const {
    const auto mlp = static_cast<double>(s_.mlp);
    if (s_.expert_visits == 0) return mlp * (s_.gated_mlp ? 3 : 2);
    // Rows of the experts, what they come from and go to, and weights of their sums; by a product for each, in fp32,
    // rows of each once more, of which a quarter are there twice.
    const double rows = visits() * hidden_;
    return !one_by_one() ? 3 * mlp + 2 * rows + 2 * hidden_ : 3.25 * mlp + 2.25 * rows + 2 * hidden_;
  }
  // What its backward pass has beside that, at the most: gradients of the inner values while those of the activation's
  // result are there, of its output and of what comes to its input by other ways.
  double backward() const {
    if (one_by_one()) return static_cast<double>(s_.mlp) + 2 * hidden_;
    const double attention = s_.scores_on_device > 0 || !takes_heads() ? 3 * pairs() : 0;
    return std::max(attention, static_cast<double>(s_.mlp) * (s_.gated_mlp ? 2 : 1)) +
           (2 + 2 * visits()) * hidden_;
  }

  bool one_by_one() const { return s_.expert_visits > 0 && element_ == 4; }
  // By a product for each expert a block keeps two of the three weights of its experts once more, and so are gradients.
  double weights_again() const {
    return one_by_one() ? 0.6 * std::max(0.0, all_ - (s_.tied_head ? 1 : 2) * table_) / layers_ : 0;
  }
  double weights_kept() const {
    if (policy_.kind == nn::RematPolicy::Kind::none) return layers_ * weights_again();
    if (policy_.kind != nn::RematPolicy::Kind::every) return 0;
    return (layers_ - std::ceil(layers_ / static_cast<double>(policy_.every))) * weights_again();
  }

  double kept_of_layers() const {
    switch (policy_.kind) {
      case nn::RematPolicy::Kind::none:
        return layers_ * block() + hidden_;
      case nn::RematPolicy::Kind::full:
        return layers_ * hidden_;
      case nn::RematPolicy::Kind::offload:
        return std::min(layers_, 2.0) * hidden_;
      case nn::RematPolicy::Kind::every: {
        const double again = std::ceil(layers_ / static_cast<double>(policy_.every));
        return again * hidden_ + (layers_ - again) * block();
      }
      case nn::RematPolicy::Kind::nested: {
        const double group = static_cast<double>(nn::nested_group(s_.layers));
        return (layers_ / group) * hidden_;
      }
    }
    return layers_ * block();
  }
  // Of a block that is computed again, beside its input.
  double again() const {
    if (policy_.kind == nn::RematPolicy::Kind::none) return 0;
    const bool nested = policy_.kind == nn::RematPolicy::Kind::nested;
    return block() + (nested ? static_cast<double>(nn::nested_group(s_.layers)) * hidden_ : 0);
  }

  // Products of a chunk of states, the gradient of the table, and a copy of it where rows are missing.
  Moment head() const {
    const std::int64_t rows = core::head_rows(options_.vocab);
    const double chunk = std::min(tokens_, static_cast<double>(options_.positions_of_head())) *
                         static_cast<double>(rows) * element_;
    const double copy = rows == options_.vocab ? 0 : table_ * element_ / 4;
    return {are_there() ? sets() * set_ : 0,
            bytes(kept_of_layers() + 2 * hidden_ + outside()) + weights_kept() + chunk + table_ + copy};
  }
  Moment last_block() const {
    const double weights =
        weights_kept() + (policy_.kind == nn::RematPolicy::Kind::none ? 1 : 2) * weights_again();
    return {(are_there() ? sets() * set_ : 0) + table_,
            bytes(kept_of_layers() + again() + backward() + outside()) + weights + options_.attention_room};
  }
  Moment first_block() const {
    return {sets() * set_ + waiting(), bytes(hidden_ + block() + backward() + outside()) +
                                           2 * weights_again() + options_.attention_room};
  }
  // Nothing else is left then.
  Moment embedding() const {
    return {sets() * set_ + waiting() + (s_.tied_head ? 2 : 1) * table_, bytes(2 * hidden_)};
  }

  const nn::ModelShape& s_;
  const nn::RematPolicy& policy_;
  const EstimateOptions& options_;
  double element_, tokens_, hidden_, layers_, all_, set_, table_;
};

}  // namespace

void estimate_lane_on_device(SizeEstimate& sizes, const nn::ModelShape& shape, const nn::RematPolicy& policy,
                             const EstimateOptions& options) {
  const auto most = Lane(sizes, shape, policy, options).most();
  sizes.gradient_bytes = most.gradients;
  sizes.activation_bytes = most.activations;
}

double attention_room_on_device(core::Device device, const nn::ModelShape& shape, std::int64_t sequences,
                                core::DType compute) {
  const auto& library = core::attention_library(device.type);
  if (library.name.empty() || !library.why_not.empty() || compute != core::DType::bf16) return 0;
  const auto row = [&](std::int64_t heads) {
    return core::AttentionPlan::Strides{shape.seq_len * heads * shape.head_dim, heads * shape.head_dim,
                                        shape.head_dim};
  };
  core::AttentionPlan plan{.batch = sequences,
                           .queries = shape.seq_len,
                           .keys = shape.seq_len,
                           .kv_heads = shape.kv_heads,
                           .group = shape.heads / shape.kv_heads,
                           .head_dim = shape.head_dim,
                           .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim))};
  plan.q = plan.out = row(shape.heads);
  plan.k = plan.v = row(shape.kv_heads);
  plan.dq = plan.dk = plan.dv = row(shape.heads + 2 * shape.kv_heads);
  const auto& ready = library.ready(plan, device.index);
  return ready.why_not.empty() ? static_cast<double>(std::max(ready.forward_room, ready.backward_room)) : 0;
}

}  // namespace bora::run
