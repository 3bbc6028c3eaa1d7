// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cross_entropy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax_ops.h>

#include <cmath>
#include <optional>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/cross_entropy.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/reduce.h"

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

// The axes of a head that hidden states lack: the vocabulary.
std::string_view vocabulary(std::string_view op, const Operand& head, Names embed) {
  const auto vocab = without(head.names, embed);
  if (vocab.size() == 1 && embed.size() + 1 == head.names.size()) return vocab[0];
  fail(ErrorKind::InvalidArgument,
       "{}: the head {} must have the axes {} of the hidden state and one more, the vocabulary", op,
       describe(head), describe(embed));
}

}  // namespace

CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, const CrossEntropyOptions& options) try {
  static constexpr std::string_view kOp = "linear_cross_entropy";
  check_options(kOp, options.head);
  const auto embed = without(hidden.names, targets.names), over = without(head.names, embed);
  std::vector<Operand> operands{hidden, head, targets, weights};
  if (!options.head.bias.empty()) operands.push_back({options.head.bias, over});
  // libtorch's ops see the whole vocabulary at once
  const bool plain = !hidden.array.empty() && !autograd::has_kernel(tensor(hidden.array));
  Space space(kOp, operands, plain ? joined(embed, over) : embed);
  space.by_lanes();
  const auto vocab = vocabulary(kOp, head, embed);
  NameList positions(targets.names.begin(), targets.names.end());
  NameList hidden_order = positions, head_order{vocab};
  hidden_order.insert(hidden_order.end(), embed.begin(), embed.end());
  head_order.insert(head_order.end(), embed.begin(), embed.end());
  auto n = product(space, positions), e = product(space, embed);
  auto x = reshaped(permuted(space.local(hidden), hidden.names, hidden_order), {n, e});
  auto w = reshaped(permuted(space.local(head), head.names, head_order), {space.part(vocab), e});
  std::optional<at::Tensor> b;
  if (!options.head.bias.empty()) b = space.local(operands.back());
  auto t = reshaped(space.local(targets).to(at::kInt), {n}).contiguous();
  auto p =
      reshaped(permuted(space.local(weights).to(at::kFloat), weights.names, positions), {n}).contiguous();
  const autograd::CrossEntropyRule rule{.logit_scale = options.head.logit_scale,
                                        .soft_cap = options.head.soft_cap,
                                        .z_loss = options.z_loss,
                                        .chunk = options.chunk,
                                        .vocab = space.size(vocab),
                                        .first = space.first(vocab),
                                        .lanes = vocab == space.laned() ? space.lanes() : 1,
                                        .workers = space.workers(vocab)};
  auto loss = autograd::linear_cross_entropy(x, w, b, t, p, rule);
  Array sum = reduce(Reduction::sum, {weights.array, weights.names}, weights.names);
  return {whole({space.label(loss, {}, {&vocab, 1}), {}}), whole({sum, {}})};
} catch (...) {
  rethrow("linear_cross_entropy", {hidden, head, targets, weights});
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
