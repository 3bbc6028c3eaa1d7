// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bora/data/dataset.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/metric_sums.h"
#include "bora/nn/language_model_interface.h"

namespace bora::train {

/// Of a batch of trainer.max_eval_batches: a power of two.
constexpr std::int64_t kEvalSequences = 16;

/// Sums over a data set; the means follow from them.
struct EvalResult {
  double loss_sum = 0;  ///< nats
  double tokens = 0;    ///< predicted tokens that count, each by its weight
  double bytes = 0;     ///< UTF-8 bytes that these stand for, likewise
  std::int64_t sequences = 0;
  std::vector<mesh::MetricSum> metrics = {};  ///< the model's own

  /// Whether a token counts: else there is no loss.
  bool has_loss() const { return tokens > 0; }
  double loss() const { return has_loss() ? loss_sum / tokens : 0; }
  double perplexity() const;
  /// Whether bytes are known: else there are no bits per byte.
  bool has_bytes() const { return bytes > 0; }
  /// Total bits over total bytes.
  double bits_per_byte() const;
  /// Metrics are added up by name.
  EvalResult& operator+=(const EvalResult& other);
};

/// Loss over sequences [0, min(size, max_batches·batch_size)) of a data set, without dropout.
/// `bytes_per_token` may be empty. With `workers` (who compute different batches; collective) each takes its
/// own: sums are added batch by batch, the same bits for any number of workers.
EvalResult evaluate(const nn::LanguageModel& model, const data::Dataset& set, std::int64_t batch_size,
                    std::int64_t max_batches, std::span<const std::int32_t> bytes_per_token,
                    const nn::LossOptions& options, mesh::Communicator* workers = nullptr);

/// Entropy in nats of the frequencies of tokens, without padding, in sequences [0, sequences) of a data set:
/// what a model that knows nothing but these frequencies would reach. Errors: InvalidArgument for an id
/// outside of the vocabulary.
double unigram_entropy(const data::Dataset& set, std::int64_t sequences, std::int64_t vocab_size);

}  // namespace bora::train
