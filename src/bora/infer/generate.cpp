// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"

namespace bora::infer {
namespace {

core::Array as_batch(std::int64_t rows, const std::vector<std::int32_t>& ids) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{rows, std::ssize(ids) / rows};
  return core::from_data({names, sizes}, std::span<const std::int32_t>(ids));
}

// [row, vocab]: the vocabulary may lie in blocks on several workers.
std::vector<float> all_logits(const core::Array& logits) {
  constexpr std::array<std::string_view, 3> names{"batch", "position", "vocab"};
  return core::whole({logits, names}).to_vector<float>();
}

// -inf is a token that never comes; from NaN and inf no token can be drawn.
void require_finite(std::span<const float> logits, std::size_t tokens) {
  const auto bad = std::find_if(logits.begin(), logits.end(),
                                [](float x) { return std::isnan(x) || (std::isinf(x) && x > 0); });
  if (bad == logits.end() &&
      std::any_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }))
    return;
  const auto at = bad == logits.end() ? logits.begin() : bad;
  fail(ErrorKind::NonFinite,
       "generate: after {} token{} the model's logits are not finite: that of id {} is {}\n"
       "hint: the model's weights are damaged, or its training diverged; take an earlier checkpoint",
       tokens, tokens == 1 ? "" : "s", at - logits.begin(), std::isnan(*at) ? "nan" : "infinite");
}

void check_prompt(const nn::ModelShape& shape, const std::vector<std::int32_t>& prompt) {
  if (prompt.empty())
    fail(ErrorKind::InvalidArgument,
         "generate: the prompt is empty\nhint: give at least one token, such as the beginning-of-text token");
  if (std::ssize(prompt) >= shape.seq_len) {
    fail(ErrorKind::InvalidArgument,
         "generate: the prompt has {} tokens but the model's seq_len is {}\nhint: a shorter prompt",
         prompt.size(), shape.seq_len);
  }
  for (auto id : prompt) {
    if (id >= 0 && id < shape.vocab) continue;
    fail(
        ErrorKind::InvalidArgument,
        "generate: id {} is outside the vocabulary of {}\nhint: this tokenizer does not belong to this model",
        id, shape.vocab);
  }
}

std::vector<std::int64_t> longest(const nn::ModelShape& shape, const std::vector<Request>& requests) {
  std::vector<std::int64_t> out;
  for (const auto& [prompt, options] : requests)
    out.push_back(std::min(shape.seq_len, std::ssize(prompt) + options.max_new_tokens));
  return out;
}

// One request on its way.
class Row {
 public:
  Row(const Request& request, std::int64_t longest) : request_(request), longest_(longest) {}

  bool has_room() const { return length() < longest_; }
  std::int64_t length() const { return std::ssize(request_.prompt) + std::ssize(out_); }
  /// The prompt and what has come after it.
  std::vector<std::int32_t> text() const {
    auto all = request_.prompt;
    all.insert(all.end(), out_.begin(), out_.end());
    return all;
  }
  const std::vector<std::int32_t>& tokens() const { return out_; }
  /// Draws the next token; none where that ends the text.
  std::optional<std::int32_t> draw(std::span<const float> logits) {
    require_finite(logits, static_cast<std::size_t>(length()));
    const auto key = Key::from_seed(request_.options.seed).fold("generate").fold(out_.size());
    const auto id = sample(logits, request_.options.sampling, key);
    const auto& stops = request_.options.stop_ids;
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) return std::nullopt;
    out_.push_back(id);
    return id;
  }

 private:
  const Request& request_;
  std::int64_t longest_;
  std::vector<std::int32_t> out_;
};

// Takes out of a pass the rows that its tokens make too long for what their caches hold.
std::vector<std::int64_t> take_outgrown(const nn::ModelShape& shape, const std::vector<Row>& rows,
                                        std::vector<std::int64_t>& these, std::vector<std::int32_t>& ids) {
  std::vector<std::int64_t> outgrown;
  for (auto r = std::ssize(these); shape.short_positions > 0 && r-- > 0;) {
    const auto i = these[static_cast<std::size_t>(r)];
    if (rows[static_cast<std::size_t>(i)].length() != shape.short_positions + 1) continue;
    outgrown.push_back(i);
    these.erase(these.begin() + r);
    ids.erase(ids.begin() + r);
  }
  return outgrown;
}

}  // namespace

std::vector<std::vector<std::int32_t>> generate(
    const nn::LanguageModel& model, const std::vector<Request>& requests,
    const std::function<bool(std::size_t request, std::int32_t id)>& on_token) {
  const auto shape = model.shape();
  for (const auto& request : requests) check_prompt(shape, request.prompt);
  const auto capacities = longest(shape, requests);
  nn::KvCache cache(shape.layers, capacities);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < requests.size(); ++i) rows.emplace_back(requests[i], capacities[i]);

  std::vector<std::int64_t> going;  // the rows of the next pass, and the token that each reads
  std::vector<std::int32_t> next;
  const auto read = [&](const std::vector<std::int64_t>& these, const std::vector<std::int32_t>& ids) {
    nn::CachePass pass(cache, these);
    const auto logits = all_logits(model.logits(as_batch(std::ssize(these), ids), {.cache = &pass}));
    const auto each = logits.size() / these.size();
    for (std::size_t r = 0; r < these.size(); ++r) {
      auto& row = rows[static_cast<std::size_t>(these[r])];
      const auto id = row.draw(std::span(logits).subspan(r * each, each));
      if (!id || (on_token && !on_token(static_cast<std::size_t>(these[r]), *id)) || !row.has_room())
        continue;
      going.push_back(these[r]);
      next.push_back(*id);
    }
  };
  for (std::int64_t i = 0; i < std::ssize(rows); ++i)
    if (rows[static_cast<std::size_t>(i)].has_room()) read({i}, requests[static_cast<std::size_t>(i)].prompt);
  while (!going.empty()) {
    auto these = std::exchange(going, {});
    auto ids = std::exchange(next, {});
    const auto outgrown = take_outgrown(shape, rows, these, ids);
    if (!these.empty()) read(these, ids);
    for (const auto i : outgrown) {
      cache.truncate(i, 0);
      read({i}, rows[static_cast<std::size_t>(i)].text());
    }
  }

  std::vector<std::vector<std::int32_t>> out;
  for (const auto& row : rows) out.push_back(row.tokens());
  return out;
}

std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token) {
  std::function<bool(std::size_t, std::int32_t)> each;
  if (on_token) each = [&](std::size_t, std::int32_t id) { return on_token(id); };
  return generate(model, std::vector<Request>{{prompt, options}}, each).front();
}

}  // namespace bora::infer
