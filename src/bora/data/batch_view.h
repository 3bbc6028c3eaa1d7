// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bora/data/loader.h"

namespace bora::data {

/// Tokens in a row of one segment and one weight, as text.
struct TokenRun {
  std::int32_t segment = 0;  ///< -1: padding
  float weight = 0;          ///< how much predicting these tokens counts; the first token of a row: 0
  std::int64_t tokens = 0;
  std::string text;
  bool operator==(const TokenRun&) const = default;
};

/// One sequence of a batch, for people.
struct RowView {
  std::string source;
  std::int64_t segments = 0;
  std::int64_t padding = 0;  ///< tokens
  std::int64_t counted = 0;  ///< predictions with a weight
  std::vector<TokenRun> runs;
};

struct BatchView {
  std::int64_t step = 0, seq_len = 0;
  std::vector<RowView> rows;
  std::vector<std::pair<std::string, std::int64_t>> sources;  ///< rows of each source that has some
  double padding_share() const;
  double counted_share() const;  ///< of the predictions that are not of padding
};

using Decode = std::function<std::string(std::span<const std::int32_t>)>;

/// `sources` are the names by number.
BatchView view_batch(const Batch& batch, const std::vector<std::string>& sources, const Decode& decode);

/// Lines: for each row its facts, then its text, each run behind its weight and each segment behind a rule.
/// `color`: weights as colours of a terminal. Control characters of the text are shown as ␛ and the like.
std::string batch_text(const BatchView& view, bool color);

}  // namespace bora::data
