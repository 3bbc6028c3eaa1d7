// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/home_path.h"
#include "bora/checkpoint/retention.h"

namespace bora::checkpoint {
namespace {

std::string until_text(const std::optional<std::int64_t>& until) {
  return until ? std::to_string(*until) : "null";
}

}  // namespace

void KeepConfig::bind(Binder& b) {
  b.field("every", every, at_least(1), "steps between permanent checkpoints");
  b.field("until", until, kNonNegative, "the last step of this rule; null: for good");
}

void CheckpointerConfig::bind(Binder& b) {
  bind_path(b, "base_path", base_path, "where runs keep their checkpoints");
  b.field("save_interval", save_interval, kNonNegative, "time between temporary checkpoints; null: none");
  if (const auto word = b.text("keep")) {
    b.mark_used("keep");
    b.problem("keep",
              "must be a list of rules, such as [{every: 1000}], or [{every: 100, until: 1000}, {every: "
              "1000}]");
  } else {
    b.field("keep", keep, "permanent checkpoints: every N steps, until a step");
  }
  b.field("append_run_id_to_base_path", append_run_id_to_base_path, "a directory for each run");
  b.field("delete_old_temp_checkpoints", delete_old_temp_checkpoints,
          "temporary checkpoints of earlier attempts at this run are removed too");
  if (!b.reading()) return;
  for (std::size_t i = 1; i < keep.size(); ++i) {
    const auto before = keep[i - 1].until, here = keep[i].until;
    if (!before || (here && *here <= *before)) {
      b.problem(
          "keep",
          fmt::format(
              "each rule but the last needs an until, and a later one than the rule before; until: {} is "
              "followed by until: {}; such as [{{every: 100, until: 1000}}, {{every: 1000}}]",
              until_text(before), until_text(here)));
    }
  }
}

std::string CheckpointerConfig::run_directory(const std::string& run_id) const {
  return append_run_id_to_base_path ? path_join(base_path, run_id) : base_path;
}

}  // namespace bora::checkpoint
