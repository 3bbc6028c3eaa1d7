// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/speech_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/infer/sampler.h"
#include "bora/nn/kv_cache.h"

namespace bora::infer {
namespace {

using Ids = std::vector<std::int32_t>;

core::Array as_row(const Ids& ids) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{1, std::ssize(ids)};
  return core::from_data({names, sizes}, std::span<const std::int32_t>(ids));
}

void require_finite_scores(std::span<const float> logits, std::size_t tokens) {
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::isfinite(logits[id])) continue;
    fail(ErrorKind::NonFinite,
         "speech: after {} tokens the model's logits are not finite: that of id {} is {}\nhint: the model's "
         "weights are damaged, or its training diverged; take an earlier checkpoint",
         tokens, id, logits[id]);
  }
}

void check_prompt(const nn::ModelShape& shape, const Ids& prompt) {
  if (prompt.empty())
    fail(ErrorKind::InvalidArgument, "speech: the prompt is empty: it begins with the start token");
  if (std::ssize(prompt) >= shape.seq_len) {
    fail(ErrorKind::InvalidArgument, "speech: the prompt has {} tokens but the decoder {} positions",
         prompt.size(), shape.seq_len);
  }
  for (const auto id : prompt) {
    if (id < 0 || id >= shape.vocab)
      fail(ErrorKind::InvalidArgument, "speech: id {} is outside the vocabulary of {}", id, shape.vocab);
  }
}

// What all texts of a chunk share.
struct Chunk {
  const nn::SpeechModel& model;
  const nn::HeardSpeech& heard;
  const SpeechTokens& tokens;
  const Ids& prompt;
  const SpeechOptions& options;
  std::int64_t longest;  // prompt included

  std::vector<float> logits(nn::KvCache& cache, const Ids& next) const {
    nn::CachePass pass(cache, {0});
    auto out = model.logits(as_row(next), heard, {.cache = &pass}).to_vector<float>();
    require_finite_scores(out, static_cast<std::size_t>(cache.length(0)));
    return out;
  }
  bool full(const Ids& sampled) const { return std::ssize(prompt) + std::ssize(sampled) >= longest; }
};

Ids greedy(const Chunk& chunk) {
  nn::KvCache cache(chunk.model.shape().layers, {chunk.longest});
  Ids sampled, next = chunk.prompt;
  while (!chunk.full(sampled)) {
    auto scores = chunk.logits(cache, next);
    apply_speech_rules(chunk.tokens, chunk.options.timestamps, sampled, scores);
    const auto id = most_probable(scores);
    if (id == chunk.tokens.end) break;
    sampled.push_back(id);
    next = {id};
  }
  return sampled;
}

void log_softmax(std::vector<float>& logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - most);
  const double lse = most + std::log(sum);
  for (float& x : logits) x = static_cast<float>(x - lse);
}

// Worse than any text, and finite.
constexpr float kWorst = -1e9f;

struct Text {
  Ids sampled;
  float score = kWorst;
  std::size_t parent = 0;  // the running text that it goes on from
  bool ended = false;
};

// Of `count` best, the better first; ties by place.
std::vector<std::size_t> best(const std::vector<float>& scores, std::size_t count) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  const auto better = [&](std::size_t a, std::size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(count);
  return order;
}

class BeamSearch {
 public:
  explicit BeamSearch(const Chunk& chunk)
      : chunk_(chunk),
        beams_(static_cast<std::size_t>(chunk.options.beams)),
        running_(beams_),
        ended_(beams_) {
    running_[0].score = 0;
  }

  Ids run() {
    bool going = true;
    while (going) {
      const auto candidates = next_candidates();
      keep_ended(candidates);
      const bool all_end = std::all_of(candidates.begin(), candidates.end(), [](auto& t) { return t.ended; });
      keep_running(candidates);
      going = !all_end && can_be_better();
    }
    auto sampled = ended_.front().sampled;
    if (!sampled.empty() && sampled.back() == chunk_.tokens.end) sampled.pop_back();
    return sampled;
  }

 private:
  // Log-probabilities of the next token of each running text: all are the prompt at first.
  std::vector<float> scores_of(std::size_t i) {
    if (first_.empty()) {
      caches_.push_back(
          std::make_unique<nn::KvCache>(chunk_.model.shape().layers, std::vector{chunk_.longest}));
      first_ = chunk_.logits(*caches_[0], chunk_.prompt);
      log_softmax(first_);
    }
    auto scores = first_;
    if (!running_[i].sampled.empty()) {
      scores = chunk_.logits(*caches_[i], {running_[i].sampled.back()});
      log_softmax(scores);
    }
    apply_speech_rules(chunk_.tokens, chunk_.options.timestamps, running_[i].sampled, scores);
    for (float& x : scores) x += running_[i].score;
    return scores;
  }

  // Twice as many as there are beams: if half of them end, there are still enough to go on with.
  std::vector<Text> next_candidates() {
    std::vector<float> all;
    for (std::size_t i = 0; i < beams_; ++i) {
      const auto scores = scores_of(i);
      all.insert(all.end(), scores.begin(), scores.end());
    }
    const auto vocab = all.size() / beams_;
    std::vector<Text> out;
    for (const auto place : best(all, 2 * beams_)) {
      Text text{running_[place / vocab].sampled, all[place], place / vocab};
      text.sampled.push_back(static_cast<std::int32_t>(place % vocab));
      text.ended = text.sampled.back() == chunk_.tokens.end || chunk_.full(text.sampled);
      out.push_back(std::move(text));
    }
    return out;
  }

  float penalty(std::size_t length) const {
    return static_cast<float>(std::pow(static_cast<double>(length), chunk_.options.length_penalty));
  }

  // Only of the best `beams_` candidates: the others are there to go on with.
  void keep_ended(const std::vector<Text>& candidates) {
    std::vector<Text> all = ended_;
    for (std::size_t i = 0; i < std::min(beams_, candidates.size()); ++i) {
      if (!candidates[i].ended) continue;
      all.push_back(candidates[i]);
      all.back().score /= penalty(all.back().sampled.size());
    }
    std::vector<float> scores;
    for (const auto& text : all) scores.push_back(text.score);
    std::vector<Text> kept;
    for (const auto i : best(scores, beams_)) kept.push_back(all[i]);
    ended_ = std::move(kept);
  }

  void keep_running(const std::vector<Text>& candidates) {
    std::vector<float> scores;
    for (const auto& text : candidates) scores.push_back(text.score + (text.ended ? kWorst : 0.0f));
    std::vector<Text> next;
    for (const auto i : best(scores, beams_)) {
      next.push_back(candidates[i]);
      next.back().score = scores[i];
      next.back().ended = false;
    }
    running_ = std::move(next);
    hand_on_caches();
  }

  // The last child of a text takes its cache, the others a copy.
  void hand_on_caches() {
    std::vector<std::unique_ptr<nn::KvCache>> next(beams_);
    std::vector<std::size_t> children(beams_);
    const auto cache_of = [&](std::size_t i) { return caches_.size() == 1 ? 0 : running_[i].parent; };
    for (std::size_t i = 0; i < beams_; ++i) ++children[cache_of(i)];
    for (std::size_t i = 0; i < beams_; ++i) {
      auto& parent = caches_[cache_of(i)];
      const bool last = --children[cache_of(i)] == 0;
      next[i] = last ? std::move(parent) : std::make_unique<nn::KvCache>(parent->clone());
    }
    caches_ = std::move(next);
  }

  // The best running text, at its present length, against the worst that ended.
  bool can_be_better() const {
    const auto& text = running_.front();
    const float possible = text.score / penalty(text.sampled.size());
    const bool open = std::any_of(ended_.begin(), ended_.end(), [](auto& t) { return !t.ended; });
    return possible > (open ? kWorst : ended_.back().score);
  }

  const Chunk& chunk_;
  std::size_t beams_;
  std::vector<Text> running_, ended_;
  std::vector<std::unique_ptr<nn::KvCache>> caches_;
  std::vector<float> first_;
};

}  // namespace

std::vector<std::int32_t> decode_speech(const nn::SpeechModel& model, const nn::HeardSpeech& heard,
                                        const SpeechTokens& tokens, const Ids& prompt,
                                        const SpeechOptions& options) {
  const auto shape = model.shape();
  check_prompt(shape, prompt);
  if (options.timestamps && !tokens.no_timestamps)
    fail(ErrorKind::InvalidArgument, "speech: the model has no timestamps (no_timestamps_token_id)");
  auto longest = shape.seq_len;
  if (options.max_new_tokens > 0) longest = std::min(longest, std::ssize(prompt) + options.max_new_tokens);
  const Chunk chunk{model, heard, tokens, prompt, options, longest};
  return options.beams > 1 ? BeamSearch(chunk).run() : greedy(chunk);
}

std::string detect_language(const nn::SpeechModel& model, const nn::HeardSpeech& heard,
                            const SpeechTokens& tokens) {
  if (tokens.languages.empty())
    fail(ErrorKind::InvalidArgument, "speech: the model has one language alone, so there is none to detect");
  const auto logits = model.logits(as_row({tokens.start}), heard, {}).to_vector<float>();
  require_finite_scores(logits, 1);
  const auto score = [&](const auto& language) {
    return logits.at(static_cast<std::size_t>(language.second));
  };
  return std::max_element(tokens.languages.begin(), tokens.languages.end(),
                          [&](const auto& a, const auto& b) { return score(a) < score(b); })
      ->first;
}

}  // namespace bora::infer
