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
  std::int64_t length() const { return std::ssize(request_.prompt) + std::ssize(out_.ids); }
  /// The prompt and what has come after it.
  std::vector<std::int32_t> text() const {
    auto all = request_.prompt;
    all.insert(all.end(), out_.ids.begin(), out_.ids.end());
    return all;
  }
  /// Draws the next token; none where that ends the text.
  std::optional<std::int32_t> draw(std::span<const float> logits) {
    require_finite(logits, static_cast<std::size_t>(length()));
    const auto id = choose(logits);
    const auto& stops = request_.options.stop_ids;
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) {
      out_.finish = Finish::Stop;
      return std::nullopt;
    }
    out_.ids.push_back(id);
    const auto alternatives = request_.options.log_probs;
    if (alternatives >= 0) out_.log_probs.push_back(log_probs(logits, id, alternatives));
    return id;
  }
  void end_by_caller() { out_.finish = Finish::Caller; }
  void end_for_room() {
    out_.finish = std::ssize(out_.ids) < request_.options.max_new_tokens ? Finish::Context : Finish::Length;
  }
  const Generated& result() const { return out_; }

 private:
  Key key() const {
    const auto key = Key::from_seed(request_.options.seed).fold("generate");
    const auto sample = request_.options.sample;
    return (sample == 0 ? key : key.fold("sample").fold(sample)).fold(out_.ids.size());
  }
  std::int32_t choose(std::span<const float> logits) const {
    const auto& options = request_.options.sampling;
    if (!options.penalizes()) return sample(logits, options, key());
    std::vector<float> changed(logits.begin(), logits.end());
    penalize(changed, options, request_.prompt, out_.ids);
    return sample(changed, options, key());
  }

  const Request& request_;
  std::int64_t longest_;
  Generated out_;
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

std::string_view name(Finish finish) {
  constexpr std::array<std::string_view, 4> kNames{"stop", "length", "context", "caller"};
  return kNames.at(static_cast<std::size_t>(finish));
}

void require_prompt(const nn::ModelShape& shape, const std::vector<std::int32_t>& prompt) {
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

std::vector<Generated> generate_all(const nn::LanguageModel& model, const std::vector<Request>& requests,
                                    const OnToken& on_token) {
  const auto shape = model.shape();
  for (const auto& request : requests) require_prompt(shape, request.prompt);
  const auto capacities = longest(shape, requests);
  nn::KvCache cache(shape.layers, capacities);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < requests.size(); ++i) rows.emplace_back(requests[i], capacities[i]);

  std::vector<std::int64_t> going;  // the rows of the next pass, and the token that each reads
  std::vector<std::int32_t> next;
  const auto take = [&](std::int64_t i, std::span<const float> logits) {
    auto& row = rows[static_cast<std::size_t>(i)];
    const auto id = row.draw(logits);
    if (!id) return;
    if (on_token && !on_token(static_cast<std::size_t>(i), *id)) return row.end_by_caller();
    if (!row.has_room()) return row.end_for_room();
    going.push_back(i);
    next.push_back(*id);
  };
  const auto read = [&](const std::vector<std::int64_t>& these, const std::vector<std::int32_t>& ids) {
    nn::CachePass pass(cache, these);
    const auto logits = all_logits(model.logits(as_batch(std::ssize(these), ids), {.cache = &pass}));
    const auto each = logits.size() / these.size();
    for (std::size_t r = 0; r < these.size(); ++r) take(these[r], std::span(logits).subspan(r * each, each));
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

  std::vector<Generated> out;
  for (const auto& row : rows) out.push_back(row.result());
  return out;
}

std::vector<std::vector<std::int32_t>> generate(const nn::LanguageModel& model,
                                                const std::vector<Request>& requests,
                                                const OnToken& on_token) {
  std::vector<std::vector<std::int32_t>> out;
  for (auto& each : generate_all(model, requests, on_token)) out.push_back(std::move(each.ids));
  return out;
}

std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token) {
  OnToken each;
  if (on_token) each = [&](std::size_t, std::int32_t id) { return on_token(id); };
  return generate(model, std::vector<Request>{{prompt, options}}, each).front();
}

}  // namespace bora::infer
