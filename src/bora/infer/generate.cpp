// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/generate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/core/update.h"

namespace bora::infer {
namespace {

core::Array row_of(const std::vector<std::int32_t>& ids) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  std::array<std::int64_t, 2> sizes{1, static_cast<std::int64_t>(ids.size())};
  return core::from_data({names, sizes}, std::span<const std::int32_t>(ids));
}

// Of the last position; the vocabulary may lie in blocks on several workers.
std::vector<float> last_logits(const core::Array& logits) {
  constexpr std::array<std::string_view, 3> names{"batch", "position", "vocab"};
  const auto all = core::whole({logits, names});
  return core::read_slice(all, 1, all.size(1) - 1, 1).to_vector<float>();
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

}  // namespace

std::vector<std::int32_t> generate(const nn::LanguageModel& model, const std::vector<std::int32_t>& prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(std::int32_t)>& on_token) {
  auto shape = model.shape();
  check_prompt(shape, prompt);
  auto length = std::min(shape.seq_len, std::ssize(prompt) + options.max_new_tokens);
  nn::KvCache cache(shape.layers, length);
  nn::Context context{.cache = &cache};
  auto key = Key::from_seed(options.seed).fold("generate");
  std::vector<std::int32_t> out, next = prompt;
  while (std::ssize(prompt) + std::ssize(out) < length) {
    const auto logits = last_logits(model.logits(row_of(next), context));
    require_finite(logits, prompt.size() + out.size());
    auto id = sample(logits, options.sampling, key.fold(out.size()));
    if (std::find(options.stop_ids.begin(), options.stop_ids.end(), id) != options.stop_ids.end()) break;
    out.push_back(id);
    if (on_token && !on_token(id)) break;
    next = {id};
  }
  return out;
}

}  // namespace bora::infer
