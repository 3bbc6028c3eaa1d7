// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cross_entropy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax_ops.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/cross_entropy.h"
#include "bora/core/autograd/scores.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

// One class for each row of the logits. Where sizes happen to agree, a wrong axis would go unnoticed.
void check_targets(const Operand& logits, std::string_view vocab, const Operand& targets, Names rows) {
  require_indices("cross_entropy", targets);
  if (targets.names.size() != rows.size() || !within(targets.names, rows)) {
    fail(
        ErrorKind::InvalidArgument,
        "cross_entropy: the targets {} must have the axes {}: those of the logits {} without {}, along which "
        "the classes lie\nhint: is {} the axis of the classes?",
        describe(targets), describe(rows), describe(logits), vocab, vocab);
  }
  const auto& classes = tensor(targets.array);
  // elsewhere a look would wait for the device, whose own kernels check
  if (classes.numel() == 0 || !classes.device().is_cpu()) return;
  const auto [low, high] = at::_ops::aminmax::call(classes, {}, false);
  const auto smallest = low.item().toLong(), largest = high.item().toLong();
  const auto size = whole_size(logits.array, find(logits.names, vocab));
  if (smallest >= 0 && largest < size) return;
  fail(ErrorKind::InvalidArgument,
       "cross_entropy: target {} is outside axis {} of size {} in {}\nhint: classes go from 0 to {}",
       smallest < 0 ? smallest : largest, vocab, size, describe(logits), size - 1);
}

void check_options(std::string_view op, const HeadOptions& head) {
  if (!std::isfinite(head.logit_scale) || head.logit_scale == 0) {
    fail(ErrorKind::InvalidArgument, "{}: the head's logit_scale is {}; it must be finite and not 0", op,
         head.logit_scale);
  }
  if (!std::isfinite(head.soft_cap) || head.soft_cap < 0) {
    fail(ErrorKind::InvalidArgument, "{}: the head's soft_cap is {}; it must be above 0, or 0 for none", op,
         head.soft_cap);
  }
}

void check_rows(std::string_view op, const Operand& targets, std::optional<std::int64_t> chunk) {
  if (chunk.value_or(1) < 1) {
    fail(ErrorKind::InvalidArgument,
         "{}: chunk is {}; it must be at least 1: how many positions are computed together", op, *chunk);
  }
  if (!at::isIntegralType(tensor(targets.array).scalar_type(), /*includeBool=*/false)) {
    fail(ErrorKind::InvalidArgument,
         "{}: the targets {} hold {}, but they are ids: i32\nhint: cast them to i32", op, describe(targets),
         name(targets.array.dtype()));
  }
}

// The axes of a head that hidden states lack: the vocabulary.
std::string_view vocabulary(std::string_view op, const Operand& head, Names embed) {
  const auto vocab = without(head.names, embed);
  if (vocab.size() == 1 && embed.size() + 1 == head.names.size()) return vocab[0];
  fail(ErrorKind::InvalidArgument,
       "{}: the head {} must have the axes {} of the hidden state and one more, the vocabulary", op,
       describe(head), describe(embed));
}

// Operands as rows: hidden [positions, embed], head [vocab, embed], bias [vocab], each value of positions
// [positions].
struct Rows {
  Space space;
  NameList positions;
  std::string_view vocab;
  std::int64_t count;  // of positions
  at::Tensor hidden, targets;
  autograd::Factor head;
  std::optional<autograd::Factor> bias;
  autograd::CrossEntropyRule rule;

  /// `whole_vocab`: the head is gathered where ranks have shards of it.
  Rows(std::string_view op, const Operand& x, const Operand& w, const Operand& t, const HeadOptions& options,
       std::optional<std::int64_t> chunk, bool whole_vocab, std::span<const Operand> more = {})
      : Rows(op, x, w, t, options, chunk, without(x.names, t.names),
             without(w.names, without(x.names, t.names)), whole_vocab, more) {}
  std::optional<at::Tensor> bias_values() const { return bias ? std::optional(bias->values) : std::nullopt; }
  at::Tensor of_positions(const Operand& x, at::ScalarType type) const {
    return reshaped(permuted(space.local(x).to(type), x.names, positions), {count}).contiguous();
  }
  // Values [positions, ...] with the axes of the targets again, and `last` behind them.
  Array label(const at::Tensor& values, NameList last = {}) const {
    Dims sizes;
    NameList names = positions;
    for (const auto axis : positions) sizes.push_back(space.part(axis));
    for (std::size_t i = 0; i < last.size(); ++i) {
      sizes.push_back(values.size(static_cast<std::int64_t>(i) + 1));
      names.push_back(last[i]);
    }
    return space.label(reshaped(values, sizes), names, {&vocab, 1});
  }

  DType type_of_both() const {
    const auto halves = [](const at::Tensor& x) { return x.scalar_type() == at::kBFloat16; };
    return halves(hidden) && halves(head.values) ? DType::bf16 : DType::f32;
  }
  // What products are in decides how many fit, where nobody has said.
  void take_together(DType products) {
    rule.chunk = chunk_.value_or(head_chunk(from_torch(hidden.device()).type, products, rule.vocab));
  }

 private:
  std::optional<std::int64_t> chunk_;

  // libtorch's ops, and kernels of devices, see the whole vocabulary at once
  static bool has_kernels(const Operand& x) {
    return x.array.empty() || autograd::has_kernel(tensor(x.array));
  }
  static std::vector<Operand> all(const Operand& x, const Operand& w, const Operand& t,
                                  const HeadOptions& options, const NameList& over,
                                  std::span<const Operand> more) {
    std::vector<Operand> out{x, w, t};
    for (const auto& operand : more) out.push_back(operand);
    if (!options.bias.empty()) out.push_back({options.bias, over});
    return out;
  }
  Rows(std::string_view op, const Operand& x, const Operand& w, const Operand& t, const HeadOptions& options,
       std::optional<std::int64_t> chunk, const NameList& embed, const NameList& over, bool whole_vocab,
       std::span<const Operand> more)
      : space((check_options(op, options), check_rows(op, t, chunk), op), all(x, w, t, options, over, more),
              has_kernels(x) && !whole_vocab ? embed : joined(embed, over)),
        positions(t.names.begin(), t.names.end()),
        vocab(vocabulary(op, w, embed)),
        count(product(space, positions)),
        chunk_(chunk) {
    space.by_lanes();
    NameList hidden_order = positions, head_order{vocab};
    hidden_order.insert(hidden_order.end(), embed.begin(), embed.end());
    head_order.insert(head_order.end(), embed.begin(), embed.end());
    const auto e = product(space, embed);
    hidden = reshaped(permuted(space.local(x), x.names, hidden_order), {count, e});
    const auto factor = [&](const Operand& p, const NameList& order, const Dims& sizes) {
      const at::Tensor values = space.local(p), parameter = space.parameter_of(p, values);
      return autograd::factor_of(values, parameter, [&](const at::Tensor& y) {
        return reshaped(permuted(y, p.names, order), sizes);
      });
    };
    head = factor(w, head_order, {space.part(vocab), e});
    if (!options.bias.empty()) bias = factor({options.bias, over}, over, {space.part(vocab)});
    targets = of_positions(t, at::kInt);
    rule = {.logit_scale = options.logit_scale,
            .soft_cap = options.soft_cap,
            .vocab = space.size(vocab),
            .first = space.first(vocab),
            .lanes = vocab == space.laned() ? space.lanes() : 1,
            .workers = space.workers(vocab)};
  }
};

}  // namespace

std::int64_t head_chunk(Device::Type device, DType products, std::int64_t vocab) {
  constexpr std::int64_t kLeast = 1024, kMost = 8192, kStep = 256, kBytes = std::int64_t{1} << 30;
  if (device == Device::Type::cpu) return kLeast;
  return std::clamp(kBytes / (static_cast<std::int64_t>(bytes(products)) * std::max<std::int64_t>(vocab, 1)) /
                        kStep * kStep,
                    kLeast, kMost);
}

std::int64_t head_rows(std::int64_t vocab) {
  constexpr std::int64_t kStep = 64;
  return (vocab + kStep - 1) / kStep * kStep;
}

CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, const CrossEntropyOptions& options) try {
  if (!std::isfinite(options.z_loss) || options.z_loss < 0) {
    fail(ErrorKind::InvalidArgument, "linear_cross_entropy: z_loss is {}; it must be at least 0 and finite",
         options.z_loss);
  }
  Rows rows("linear_cross_entropy", hidden, head, targets, options.head, options.chunk, false, {&weights, 1});
  rows.rule.z_loss = options.z_loss;
  rows.take_together(rows.type_of_both());
  auto loss = autograd::linear_cross_entropy(rows.hidden, rows.head, rows.bias, rows.targets,
                                             rows.of_positions(weights, at::kFloat), rows.rule);
  Array sum = reduce(Reduction::sum, {weights.array, weights.names}, weights.names);
  return {whole({rows.space.label(loss, {}, {&rows.vocab, 1}), {}}), whole({sum, {}})};
} catch (...) {
  rethrow("linear_cross_entropy", {hidden, head, targets, weights});
}

Array linear_log_prob(const Operand& hidden, const Operand& head, const Operand& targets,
                      const HeadOptions& options, std::optional<std::int64_t> chunk) try {
  Rows rows("linear_log_prob", hidden, head, targets, options, chunk, false);
  rows.take_together(DType::f32);
  return rows.label(
      autograd::linear_log_prob(rows.hidden, rows.head, rows.bias, rows.targets, rows.rule, rows.space.op()));
} catch (...) {
  rethrow("linear_log_prob", {hidden, head, targets});
}

LinearScores linear_scores(const Operand& hidden, const Operand& head, const Operand& targets,
                           const ScoreOptions& options) try {
  // Places among all tokens are known where all logits of a position are.
  Rows rows("linear_scores", hidden, head, targets, options.head, options.chunk,
            options.rank || options.top > 0);
  if (options.top < 0 || options.top > rows.rule.vocab) {
    fail(ErrorKind::InvalidArgument, "linear_scores: the {} most probable of {} tokens", options.top,
         rows.rule.vocab);
  }
  rows.take_together(DType::f32);
  const auto got = autograd::linear_scores(rows.hidden, rows.head.values, rows.bias_values(), rows.targets,
                                           rows.rule, options.rank, options.top);
  LinearScores out{.log_prob = rows.label(got.log_prob)};
  if (options.rank) out.rank = rows.label(got.rank);
  if (options.top > 0) {
    out.top_ids = rows.label(got.top_ids, {"top"});
    out.top_log_prob = rows.label(got.top_log_prob, {"top"});
  }
  return out;
} catch (...) {
  rethrow("linear_scores", {hidden, head, targets});
}

Array linear_logits(const Operand& hidden, const Operand& head, const HeadOptions& options, Names out) {
  static constexpr std::string_view kOp = "linear_logits";
  check_options(kOp, options);
  Array x = dot(hidden, head, out);
  if (options.logit_scale != 1) x = binary(Binary::multiply, {x, out}, options.logit_scale);
  if (!options.bias.empty()) {
    const auto vocab = without(head.names, hidden.names);
    x = binary(Binary::add, {x, out}, {options.bias, vocab}, out);
  }
  if (options.soft_cap == 0) return x;
  x = unary(Unary::tanh, {binary(Binary::divide, {x, out}, options.soft_cap), out});
  return binary(Binary::multiply, {x, out}, options.soft_cap);
}

Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets) try {
  require("cross_entropy", logits, vocab);
  NameList over{vocab};
  const auto rows = without(logits.names, over);
  check_targets(logits, vocab, targets, rows);
  Space space("cross_entropy", {logits, targets}, {&vocab, 1});
  auto log_p = log_softmax(logits, over);
  NameList order = rows;
  order.push_back(vocab);
  auto flat = permuted(space.local({log_p, logits.names}), logits.names, order);
  auto index = permuted(space.local(targets).to(at::kLong), targets.names, rows).unsqueeze(-1);
  return space.label(flat.gather(-1, index).squeeze(-1).neg(), rows);
} catch (...) {
  rethrow("cross_entropy", {logits, targets});
}

}  // namespace bora::core
