// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the benchmarks train: models of known sizes, on random ids.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bora/data/loader.h"
#include "bora/nn/language_model.h"

namespace bora::cli {

/// gpt2-124m, llama-nano, llama-mid, llama-125m or quickstart; Usage error for another name.
std::unique_ptr<nn::LanguageModel> bench_model(const std::string& name, std::int64_t seq_len);

/// The same ids for a step on every machine.
data::Batch random_batch(std::int64_t step, std::int64_t sequences, std::int64_t seq_len, std::int64_t vocab);

/// Usage error where the sizes of a command line make more tokens than a step can have.
void require_tokens(std::int64_t sequences, std::int64_t seq_len);

double median(std::vector<double> values);

/// The largest resident memory of this program so far.
double largest_memory_mb();

}  // namespace bora::cli
