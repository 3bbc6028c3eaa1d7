// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The weights that a start would take, before it does: are they there, and do they fit?
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/run/lm_config.h"
#include "bora/run/preflight.h"
#include "bora/run/problem_list.h"

namespace bora::run {

/// What a run begins with; `resumes`: it has a checkpoint of its own, and takes no other.
void look_at_start(const LmConfig& config, bool resumes, ProblemList& problems);

/// Whether the model, and then its optimizer's state, have the shapes of the checkpoint that the run in `directory` goes
/// on from. `vocab`: none where the tokenizer is still to be trained. No values are read.
void look_at_fit(const LmConfig& config, std::optional<std::int64_t> vocab, const std::string& directory,
                 const ResumePoint& at, ProblemList& problems);

/// The same of the model and what a run begins with, if anything. Where the shapes fit and the model computes something
/// else all the same (another base of RoPE, say) is a warning.
void look_at_shapes(const LmConfig& config, std::optional<std::int64_t> vocab, ProblemList& problems,
                    std::vector<std::string>& warnings);

/// Adapters leave the embeddings as they are: new rows, of a tokenizer with more ids than the model of
/// initialize_from_hf has embeddings, would never differ from each other.
std::optional<ConfigProblem> problem_of_new_ids(const LmConfig& config, std::int64_t vocab);

}  // namespace bora::run
