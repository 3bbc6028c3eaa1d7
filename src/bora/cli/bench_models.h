// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the benchmarks train: models of known sizes, on random ids.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bora/data/random_batch.h"
#include "bora/nn/language_model_interface.h"

namespace bora::cli {

/// llama-8b-8: eight of its layers.
const std::vector<std::string>& bench_model_names();
/// One of these.
std::unique_ptr<nn::LanguageModel> bench_model(const std::string& name, std::int64_t seq_len);

using data::random_batch;

/// Usage error where the sizes of a command line make more tokens than a step can have.
void require_tokens(std::int64_t sequences, std::int64_t seq_len);

double median(std::vector<double> values);

/// The largest resident memory of this program so far.
double largest_memory_mb();

}  // namespace bora::cli
