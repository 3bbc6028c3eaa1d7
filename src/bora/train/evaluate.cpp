// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bora/base/error.h"
#include "bora/train/lanes.h"

namespace bora::train {

double EvalResult::perplexity() const { return std::exp(loss()); }
double EvalResult::bits_per_byte() const { return bytes > 0 ? loss_sum / std::numbers::ln2 / bytes : 0; }

EvalResult& EvalResult::operator+=(const EvalResult& other) {
  loss_sum += other.loss_sum;
  tokens += other.tokens;
  bytes += other.bytes;
  sequences += other.sequences;
  return *this;
}

namespace {

data::Batch read_batch(const data::Dataset& set, std::int64_t first, std::int64_t count) {
  data::Batch batch;
  batch.sequences = count;
  batch.seq_len = set.seq_len();
  auto n = static_cast<std::size_t>(batch.seq_len);
  batch.tokens.resize(n * static_cast<std::size_t>(count));
  batch.segments.resize(batch.tokens.size());
  batch.loss_weights.resize(batch.tokens.size());
  for (std::int64_t i = 0; i < count; ++i) {
    auto at = static_cast<std::size_t>(i) * n;
    set.read(first + i, {std::span(batch.tokens).subspan(at, n), std::span(batch.segments).subspan(at, n),
                         std::span(batch.loss_weights).subspan(at, n)});
  }
  return batch;
}

double target_bytes(const data::Batch& batch, std::span<const std::int32_t> bytes_per_token) {
  double total = 0;
  for (std::size_t i = 0; i + 1 < batch.tokens.size(); ++i) {
    if (batch.loss_weights[i] <= 0) continue;
    auto id = static_cast<std::size_t>(batch.tokens[i + 1]);
    if (id < bytes_per_token.size()) total += double{batch.loss_weights[i]} * bytes_per_token[id];
  }
  return total;
}

EvalResult of_batch(const nn::LanguageModel& model, const data::Batch& batch,
                    std::span<const std::int32_t> bytes_per_token, const nn::LossOptions& options) {
  const auto loss = model.loss(token_batch(batch, 0, batch.sequences), std::nullopt, options);
  return {loss.loss.item(), loss.weight.item(), target_bytes(batch, bytes_per_token), batch.sequences};
}

}  // namespace

EvalResult evaluate(const nn::LanguageModel& model, const data::Dataset& set, std::int64_t batch_size,
                    std::int64_t max_batches, std::span<const std::int32_t> bytes_per_token,
                    const nn::LossOptions& options, mesh::Communicator* workers) {
  EvalResult out;
  const auto total = std::min(set.size(), max_batches * batch_size);
  const auto batches = (total + batch_size - 1) / batch_size;
  const std::int64_t team = workers ? workers->size() : 1, me = workers ? workers->rank() : 0;
  std::vector<EvalResult> round(static_cast<std::size_t>(team));
  for (std::int64_t begin = 0; begin < batches; begin += team) {
    // Workers that share parameters compute together: one without a batch repeats the first of the round.
    const auto first = (begin + me < batches ? begin + me : begin) * batch_size;
    auto& mine = round[static_cast<std::size_t>(me)];
    mine = of_batch(model, read_batch(set, first, std::min(batch_size, total - first)), bytes_per_token,
                    options);
    if (workers) workers->all_gather(as_bytes(std::span(&mine, 1)), as_writable_bytes(std::span(round)));
    for (std::int64_t i = 0; i < std::min(team, batches - begin); ++i)
      out += round[static_cast<std::size_t>(i)];
  }
  return out;
}

double unigram_entropy(const data::Dataset& set, std::int64_t sequences, std::int64_t vocab_size) {
  std::vector<double> counts(static_cast<std::size_t>(vocab_size));
  sequences = std::min(sequences, set.size());
  double total = 0;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const auto row = read_batch(set, i, 1);
    for (std::size_t t = 0; t < row.tokens.size(); ++t) {
      if (row.segments[t] < 0) continue;
      const auto id = row.tokens[t];
      if (id < 0 || id >= vocab_size) {
        fail(ErrorKind::InvalidArgument, "data: sequence {} holds id {}, outside of the vocabulary of {}", i,
             id, vocab_size);
      }
      counts[static_cast<std::size_t>(id)] += 1;
      total += 1;
    }
  }
  double entropy = 0;
  for (double c : counts)
    if (c > 0) entropy -= c / total * std::log(c / total);
  return entropy;
}

}  // namespace bora::train
