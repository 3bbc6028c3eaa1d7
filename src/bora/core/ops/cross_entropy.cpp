// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cross_entropy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax_ops.h>

#include "bora/base/error.h"
#include "bora/core/autograd/cross_entropy.h"
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
  if (classes.numel() == 0) return;
  const auto [low, high] = at::_ops::aminmax::call(classes, {}, false);
  const auto smallest = low.item().toLong(), largest = high.item().toLong();
  const auto size = whole_size(logits.array, find(logits.names, vocab));
  if (smallest >= 0 && largest < size) return;
  fail(ErrorKind::InvalidArgument,
       "cross_entropy: target {} is outside axis {} of size {} in {}\nhint: classes go from 0 to {}",
       smallest < 0 ? smallest : largest, vocab, size, describe(logits), size - 1);
}

}  // namespace

CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, double z_loss, std::int64_t chunk) try {
  auto embed = without(hidden.names, targets.names);
  Space space("linear_cross_entropy", {hidden, head, targets, weights}, embed);
  space.by_lanes();
  auto vocab = without(head.names, embed);
  if (vocab.size() != 1 || embed.size() + 1 != head.names.size()) {
    fail(ErrorKind::InvalidArgument,
         "linear_cross_entropy: the head {} must have the axes {} of the hidden state {} and one more, the "
         "vocabulary",
         describe(head), describe(embed), describe(hidden));
  }
  NameList positions(targets.names.begin(), targets.names.end());
  NameList hidden_order = positions, head_order{vocab[0]};
  hidden_order.insert(hidden_order.end(), embed.begin(), embed.end());
  head_order.insert(head_order.end(), embed.begin(), embed.end());
  auto n = product(space, positions), e = product(space, embed);
  auto x = reshaped(permuted(space.local(hidden), hidden.names, hidden_order), {n, e});
  auto w = reshaped(permuted(space.local(head), head.names, head_order), {space.part(vocab[0]), e});
  auto t = reshaped(space.local(targets).to(at::kInt), {n}).contiguous();
  auto p =
      reshaped(permuted(space.local(weights).to(at::kFloat), weights.names, positions), {n}).contiguous();
  const autograd::CrossEntropyRule cut{.z_loss = z_loss,
                                       .chunk = chunk,
                                       .vocab = space.size(vocab[0]),
                                       .first = space.first(vocab[0]),
                                       .lanes = vocab[0] == space.laned() ? space.lanes() : 1,
                                       .workers = space.workers(vocab[0])};
  auto loss = autograd::linear_cross_entropy(x, w, t, p, cut);
  Array sum = reduce(Reduction::sum, {weights.array, weights.names}, weights.names);
  return {whole({space.label(loss, {}, vocab), {}}), whole({sum, {}})};
} catch (...) {
  rethrow("linear_cross_entropy", {hidden, head, targets, weights});
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
