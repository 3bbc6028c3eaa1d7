// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cross_entropy.h"

#include <ATen/core/Tensor.h>

#include "bora/base/error.h"
#include "bora/core/autograd/cross_entropy.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/reduce.h"

namespace bora::core {

CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, double z_loss, std::int64_t chunk) {
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
}

namespace {

void check_targets(const at::Tensor& targets, std::string_view vocab, std::int64_t size) {
  if (targets.numel() == 0) return;
  const auto smallest = targets.min().item().toLong(), largest = targets.max().item().toLong();
  if (smallest >= 0 && largest < size) return;
  fail(ErrorKind::InvalidArgument,
       "cross_entropy: target {} is outside axis {} of size {}\nhint: what is to be ignored gets a target "
       "within it "
       "and the weight 0",
       smallest < 0 ? smallest : largest, vocab, size);
}

}  // namespace

Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets) {
  Space space("cross_entropy", {logits, targets}, {&vocab, 1});
  require("cross_entropy", logits, vocab);
  require_indices("cross_entropy", targets);
  NameList over{vocab};
  auto rows = without(logits.names, over);
  if (targets.names.size() != rows.size() || !within(targets.names, rows)) {
    fail(ErrorKind::InvalidArgument,
         "cross_entropy: the targets are {}, the logits {} without {} have the axes {}\nhint: {} must be the "
         "axis that the targets are places along",
         describe(targets), describe(logits), vocab, describe(rows), vocab);
  }
  auto log_p = log_softmax(logits, over);
  NameList order = rows;
  order.push_back(vocab);
  auto flat = permuted(space.local({log_p, logits.names}), logits.names, order);
  auto index = permuted(space.local(targets).to(at::kLong), targets.names, rows).unsqueeze(-1);
  check_targets(index, vocab, space.size(vocab));
  return space.label(flat.gather(-1, index).squeeze(-1).neg(), rows);
}

}  // namespace bora::core
