// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The end of a run: samples and summary.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/nn/language_model_interface.h"
#include "bora/run/adapters.h"
#include "bora/run/text_data.h"
#include "bora/track/throughput.h"
#include "bora/track/tracker.h"

namespace bora::run {

struct RunTimes {
  double first_step_seconds = 0;  ///< from process start to the end of the first step
  double waited_seconds = 0;      ///< for batches
  double trained_seconds = 0;
  std::int64_t tokens = 0;  ///< of this start, in those seconds
  const track::ThroughputMeter& meter;
};

struct RunResults {
  std::vector<track::Metric> evaluation;
  ParameterCounts parameters = {};
  std::string exported;  ///< directory, if any
  std::string adapter;   ///< likewise
  std::vector<track::Sample> samples;
};

/// Continuations of sample.prompts. Where several workers hold the model, all of them call it (collective).
std::vector<track::Sample> draw_samples(const nn::LanguageModel& model, const TextData& text,
                                        const LmConfig& config, const RunPlace& place);

void finish_run(const LmConfig& config, const RunPlace& place, const RunTimes& times,
                const RunResults& results, track::Console& console, track::Tracker& tracker);

/// Unigram entropy of the first 4,096 training sequences, in nats.
double baseline_entropy(const TextData& text);

/// The commands that may come next; `words_to_go_on`: Session's.
void show_next(const LmConfig& config, const RunPlace& place, const std::string& words_to_go_on,
               track::Console& console);
/// The command that goes on behind trainer.stop_at_step.
void show_next_after_stop(const RunPlace& place, track::Console& console);

}  // namespace bora::run
