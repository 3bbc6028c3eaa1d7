// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a start needs, looked for before it does any work: by --dry_run, and by every start in the same words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config_changes.h"
#include "bora/checkpoint/restore.h"
#include "bora/core/device.h"
#include "bora/run/data_look.h"
#include "bora/run/flags.h"
#include "bora/run/lm_config.h"
#include "bora/run/memory_estimate.h"
#include "bora/run/run_lanes.h"
#include "bora/run/run_place.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

struct TokenizerFound {
  std::optional<Tokenizer> tokenizer;
  std::int64_t vocab = 0;
  std::string words;      ///< "32,000 pieces, from my-tokenizer"
  bool is_known = false;  ///< the size of the vocabulary is no guess
};

/// What a run writes to one file system.
struct DiskNeed {
  std::string key;   ///< that names it
  std::string path;  ///< one of the folders there
  double bytes = 0;  ///< at its end, about
  double least = 0;  ///< less than this is of no use: token caches and one checkpoint
  double free = 0;
  double checkpoints = 0;  ///< of `bytes`
  std::string parts;       ///< "cache 7.3 GB, checkpoints 3 × 1.5 GB"
};

/// Where a run goes on.
struct ResumePoint {
  std::int64_t step = 0;
  checkpoint::VerifiedCheckpoint checkpoint;
  std::vector<std::string> damaged;   ///< what is wrong with newer ones, which the start sets aside
  std::vector<ConfigChange> changed;  ///< keys that its last start had otherwise
};

struct Preflight {
  core::Device device;  ///< where it computes, or is to
  std::vector<SourceFound> sources;
  TokenizerFound tokenizer;
  SizeEstimate sizes;
  std::vector<DiskNeed> disk;
  std::optional<ResumePoint> resume;
  /// Of a dry run: fewer than are asked for, where the data is read up.
  std::optional<std::int64_t> steps_of_data;
  RecordedLanes lanes;                  ///< of earlier starts of the run
  std::vector<std::string> warnings;    ///< what may go wrong
  std::vector<ConfigProblem> problems;  ///< a start would fail of each
  bool has_plan = true;                 ///< so many workers can train it
  bool can_be_shown = true;             ///< false: its numbers are too large to be computed with
};

/// The size of the vocabulary of a configuration's tokenizer: as it will be trained, or of its files; where these are
/// not here data.vocab_size, or else GPT-2's, which is a guess.
std::int64_t vocabulary_of(const data::DataConfig& data);

/// Looks, and changes nothing; fetches nothing but a tokenizer that has a name on the hub, and asks whether what is
/// elsewhere is there, which `asking` is told of. `workers`: those that start, or that --world plans for.
Preflight look_ahead(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags,
                     std::int64_t workers, const Asking& asking = {});

/// Config error with every problem, if there is any.
void require_ready(const LoadedConfig& loaded, const Preflight& found);

}  // namespace bora::run
