// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a run writes down of itself, so that it can be run again: config.yaml, run.json and the tokenizer of
// its directory (docs/formats/run_directory.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "bora/run/flags.h"
#include "bora/run/lm_config.h"
#include "bora/run/peak_flops.h"
#include "bora/run/run_place.h"
#include "bora/run/text_data.h"

namespace bora::run {

/// One start of a run.
struct RunStart {
  double time = 0;        ///< seconds since the epoch
  std::int64_t step = 0;  ///< at which it goes on
  std::int64_t lanes = 1;
  int workers = 1;
  Peak peak = {};
  bool takes_other_data = false;  ///< --accept_changes
};

/// Writes all of it. A start is kept beside the earlier ones; written again, it takes its own place. Errors:
/// Io. Config where a run goes on with other tokens, or another tokenizer, than its last start had, whatever the
/// configuration calls them, unless that is accepted.
void record_run(const LoadedConfig& loaded, const RunPlace& place, const TextData& text,
                const RunStart& start);

/// How the run was computed when it was last started; empty if nobody knows. A damaged record is no reason
/// not to go on.
std::string recorded_arithmetic(const std::string& run_directory);

/// What the workers of this machine can compute in a second, where the last start measured it: on the same CPU,
/// with as many workers and threads, in the same dtype.
std::optional<double> recorded_peak(const std::string& run_directory, int workers, core::DType compute);

/// Into how many lanes the last start cut its batches; likewise.
std::optional<std::int64_t> lanes_of_record(const std::string& run_directory);

}  // namespace bora::run
