// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/speech_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bora::infer {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void forbid(std::span<float> scores, std::int64_t begin, std::int64_t end) {
  const auto size = std::ssize(scores);
  for (auto i = std::clamp<std::int64_t>(begin, 0, size); i < std::min(end, size); ++i)
    scores[static_cast<std::size_t>(i)] = kNever;
}

// Timestamps come in pairs, but for the first and before the end.
void hold_pairs(const SpeechTokens& tokens, std::span<const std::int32_t> sampled, std::span<float> scores) {
  const auto first = tokens.first_timestamp();
  if (sampled.empty() || sampled.back() < first) return;
  const bool pair = sampled.size() < 2 || sampled[sampled.size() - 2] >= first;
  if (pair)
    forbid(scores, first, std::ssize(scores));
  else
    forbid(scores, 0, tokens.end);
}

// No timestamp before the last one; the same only as the second of a pair.
void hold_order(const SpeechTokens& tokens, std::span<const std::int32_t> sampled, std::span<float> scores) {
  const auto first = tokens.first_timestamp();
  const auto is_stamp = [first](std::int32_t id) { return id >= first; };
  const auto last = std::find_if(sampled.rbegin(), sampled.rend(), is_stamp);
  if (last == sampled.rend()) return;
  const bool open = is_stamp(sampled.back()) && sampled.size() >= 2 && !is_stamp(sampled[sampled.size() - 2]);
  forbid(scores, first, std::int64_t{*last} + (open ? 0 : 1));
}

void hold_beginning(const SpeechTokens& tokens, std::span<float> scores) {
  forbid(scores, 0, tokens.first_timestamp());
  const auto stamps = std::ssize(scores) - tokens.first_timestamp();
  if (tokens.max_initial_timestamp && *tokens.max_initial_timestamp < stamps)
    forbid(scores, tokens.first_timestamp() + *tokens.max_initial_timestamp + 1, std::ssize(scores));
}

double log_sum_exp(std::span<const float> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  if (std::isinf(most)) return most;
  double sum = 0;
  for (const float x : scores) sum += std::exp(x - most);
  return most + std::log(sum);
}

void prefer_timestamps(const SpeechTokens& tokens, std::span<float> scores) {
  const auto first = static_cast<std::size_t>(tokens.first_timestamp());
  if (first >= scores.size()) return;
  const auto text = scores.first(first), stamps = scores.subspan(first);
  if (log_sum_exp(stamps) > *std::max_element(text.begin(), text.end())) forbid(scores, 0, std::ssize(text));
}

}  // namespace

void apply_speech_rules(const SpeechTokens& tokens, bool timestamps, std::span<const std::int32_t> sampled,
                        std::span<float> scores) {
  if (sampled.empty()) {
    for (const auto id : tokens.begin_suppress) forbid(scores, id, id + 1);
  }
  for (const auto id : tokens.suppress) forbid(scores, id, id + 1);
  if (!timestamps) return;
  forbid(scores, *tokens.no_timestamps, *tokens.no_timestamps + 1);
  hold_pairs(tokens, sampled, scores);
  hold_order(tokens, sampled, scores);
  if (sampled.empty()) hold_beginning(tokens, scores);
  prefer_timestamps(tokens, scores);
}

SpeechParts split_by_timestamps(const SpeechTokens& tokens, const std::vector<std::int32_t>& ids,
                                std::int64_t frames) {
  const auto is_stamp = [&](std::size_t i) {
    return tokens.no_timestamps && ids[i] >= tokens.first_timestamp();
  };
  const auto step = [&](std::size_t i) { return std::int64_t{ids[i]} - tokens.first_timestamp(); };
  std::vector<std::size_t> cuts;  // between the two of a pair
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (is_stamp(i - 1) && is_stamp(i)) cuts.push_back(i);
  }
  const auto n = ids.size();
  const bool ends = n >= 2 && is_stamp(n - 1) && !is_stamp(n - 2);
  SpeechParts out{{}, frames};
  if (cuts.empty()) {
    SpeechPart all{0, frames / 2, ids};
    for (std::size_t i = 0; i < n; ++i) {
      if (is_stamp(i)) all.end = step(i) > 0 ? step(i) : frames / 2;
    }
    out.parts.push_back(std::move(all));
    return out;
  }
  if (ends) cuts.push_back(n);
  std::size_t begin = 0;
  for (const auto cut : cuts) {
    out.parts.push_back(
        {step(begin),
         step(cut - 1),
         {ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(cut)}});
    begin = cut;
  }
  if (!ends) out.advance = 2 * out.parts.back().end;
  if (out.advance <= 0) out.advance = frames;
  return out;
}

}  // namespace bora::infer
