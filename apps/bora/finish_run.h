// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The end of a run: evaluation of each source, samples, export, summary.
#pragma once
#include "bora/nn/language_model.h"
#include "bora/track/throughput.h"
#include "bora/track/tracker.h"
#include "text_data.h"

namespace bora::app {

struct RunTimes {
  double first_step_seconds = 0;  ///< from process start to the end of the first step
  double waited_seconds = 0;      ///< for batches
  double trained_seconds = 0;
  const track::ThroughputMeter& meter;
};

void finish_run(nn::LanguageModel& model, const TextData& text, const LmConfig& config, const RunPlace& place,
                const RunTimes& times, track::Console& console, track::Tracker& tracker);

/// Unigram entropy of the first 4,096 training sequences, in nats.
double baseline_entropy(const TextData& text);

}  // namespace bora::app
