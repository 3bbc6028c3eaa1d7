// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/lora_config.h"

#include "bora/run/module_names.h"

namespace bora::run {
namespace {

constexpr std::string_view kTargets = "target_modules";

// null, a list of names, "all-linear" or another text, which is a regular expression.
void bind_targets(Binder& b, ModuleChoice& targets) {
  constexpr std::string_view kDoc =
      "linear maps to adapt: names or their ends, [q_proj, v_proj], with * and ?; a single text is a regular "
      "expression of a whole name; default: all but the head";
  if (!b.reading()) {
    if (targets.regex) return b.field(kTargets, *targets.regex, kDoc);
    return b.field(kTargets, targets.names, kDoc);
  }
  if (!b.present(kTargets)) return;
  targets = {};
  if (b.is_null(kTargets)) return b.mark_used(kTargets);
  if (b.is_list(kTargets)) return b.field(kTargets, targets.names, kDoc);
  std::string text;
  b.field(kTargets, text, kDoc);
  if (!b.sound({kTargets}) || text == "all-linear") return;
  if (!is_regex(text)) return b.problem(kTargets, "is no regular expression; a list holds names");
  targets.regex = text;
}

}  // namespace

void LoraConfig::bind(Binder& b) {
  bind_targets(b, target_modules);
  b.field("exclude_modules", exclude_modules,
          "of these, the ones to leave alone, as in a list of target_modules");
  b.field("r", shape.rank, from_to(1, 65536), "rank of each adapter");
  b.field("alpha", shape.alpha, kPositive, "an adapter is scaled by alpha / r");
  b.field("dropout", shape.dropout, Range{.least = 0, .most = 1, .below = true},
          "of an adapter's input, while training");
  b.field("use_rslora", shape.rank_stabilized, "scale by alpha / sqrt(r) instead");
}

}  // namespace bora::run
