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
double EvalResult::bits_per_byte() const { return has_bytes() ? loss_sum / std::numbers::ln2 / bytes : 0; }

EvalResult& EvalResult::operator+=(const EvalResult& other) {
  loss_sum += other.loss_sum;
  tokens += other.tokens;
  bytes += other.bytes;
  sequences += other.sequences;
  for (const auto& m : other.metrics) {
    const auto at =
        std::find_if(metrics.begin(), metrics.end(), [&](const auto& k) { return k.name == m.name; });
    if (at == metrics.end()) {
      metrics.push_back(m);
    } else {
      at->sum += m.sum;
      at->weight += m.weight;
    }
  }
  return *this;
}

namespace {

double target_bytes(const data::Batch& batch, std::span<const std::int32_t> bytes_per_token) {
  double total = 0;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (batch.loss_weights[i] <= 0) continue;
    const auto id = static_cast<std::size_t>(batch.targets[i]);
    if (id < bytes_per_token.size()) total += double{batch.loss_weights[i]} * bytes_per_token[id];
  }
  return total;
}

EvalResult of_batch(const nn::LanguageModel& model, const data::Batch& batch,
                    std::span<const std::int32_t> bytes_per_token, const nn::LossOptions& options) {
  const auto sums = model.objective(token_batch(batch, 0, batch.sequences), std::nullopt, options);
  core::ReadBack read;
  const auto& counted = sums.without_penalties.empty() ? sums.loss : sums.without_penalties;
  const auto loss = read.add(core::Number(counted)), weight = read.add(core::Number(sums.weight));
  for (const auto& m : lane_metrics(sums.metrics)) {
    read.add(m.sum);
    read.add(m.weight);
  }
  read.wait();
  EvalResult out{read.value(loss), read.value(weight), target_bytes(batch, bytes_per_token), batch.sequences};
  auto at = weight;
  for (const auto& m : sums.metrics) {
    const double sum = read.value(++at);
    out.metrics.push_back({m.name, sum, read.value(++at)});
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<mesh::MetricSum>& metrics) {
  std::vector<std::string> names;
  for (const auto& m : metrics) names.push_back(m.name);
  return names;
}

// Results of all workers, whose metrics have the same names: sent as numbers.
std::vector<EvalResult> gathered(const EvalResult& mine, mesh::Communicator& workers) {
  std::vector<double> numbers{mine.loss_sum, mine.tokens, mine.bytes, static_cast<double>(mine.sequences)};
  for (const auto& m : mine.metrics) numbers.insert(numbers.end(), {m.sum, m.weight});
  std::vector<double> all(numbers.size() * static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(std::span(numbers)), std::as_writable_bytes(std::span(all)));
  std::vector<EvalResult> out;
  for (auto at = all.begin(); at != all.end();) {
    auto& r = out.emplace_back(mine);
    for (double* x : {&r.loss_sum, &r.tokens, &r.bytes}) *x = *at++;
    r.sequences = static_cast<std::int64_t>(*at++);
    for (auto& m : r.metrics) {
      m.sum = *at++;
      m.weight = *at++;
    }
  }
  return out;
}

}  // namespace

EvalResult evaluate(const nn::LanguageModel& model, const data::Dataset& set, std::int64_t batch_size,
                    std::int64_t max_batches, std::span<const std::int32_t> bytes_per_token,
                    const nn::LossOptions& options, mesh::Communicator* workers) {
  EvalResult out;
  mesh::MetricNames names;
  const auto total = std::min(set.size(), max_batches * batch_size);
  const auto batches = (total + batch_size - 1) / batch_size;
  const std::int64_t team = workers ? workers->size() : 1, me = workers ? workers->rank() : 0;
  for (std::int64_t begin = 0; begin < batches; begin += team) {
    // Workers that share parameters compute together: one without a batch repeats the first of the round.
    const auto first = (begin + me < batches ? begin + me : begin) * batch_size;
    const auto mine = of_batch(model, data::read_batch(set, first, std::min(batch_size, total - first)),
                               bytes_per_token, options);
    names.add(names_of(mine.metrics));
    if (!workers) {
      out += mine;
      continue;
    }
    names.agree(*workers);
    const auto round = gathered(mine, *workers);
    for (std::int64_t i = 0; i < std::min(team, batches - begin); ++i)
      out += round[static_cast<std::size_t>(i)];
  }
  return out;
}

double unigram_entropy(const data::Dataset& set, std::int64_t sequences, std::int64_t vocab_size) {
  std::vector<double> counts(static_cast<std::size_t>(vocab_size));
  sequences = std::min(sequences, set.size());
  double total = 0;
  const auto length = static_cast<std::size_t>(set.seq_len());
  std::vector<std::int32_t> tokens(length), segments(length);
  std::vector<float> weights(length);
  for (std::int64_t i = 0; i < sequences; ++i) {
    set.read(i, {tokens, segments, weights});
    for (std::size_t t = 0; t < length; ++t) {
      if (segments[t] < 0) continue;
      const auto id = tokens[t];
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
