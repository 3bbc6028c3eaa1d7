// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"

namespace bora::infer {
namespace {

using Ids = std::vector<std::int32_t>;

core::Array as_batch(std::int64_t rows, const Ids& ids) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{rows, std::ssize(ids) / rows};
  return core::from_data({names, sizes}, std::span<const std::int32_t>(ids));
}

// [row, vocab]: the vocabulary may lie in shards on several workers.
std::vector<float> all_logits(const core::Array& logits) {
  constexpr std::array<std::string_view, 3> names{"batch", "position", "vocab"};
  return core::whole({logits, names}).to_vector<float>();
}

// -inf is a token that never comes; from NaN and inf no token can be drawn.
void require_finite(std::span<const float> logits, std::int64_t tokens) {
  constexpr float kMost = std::numeric_limits<float>::max();
  int too_much = 0;  // all are looked at: that is done many at a time
  for (const float x : logits) too_much |= x <= kMost ? 0 : 1;
  if (too_much == 0 && std::any_of(logits.begin(), logits.end(), [](float x) { return x >= -kMost; })) return;
  const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !(x <= kMost); });
  const auto at = bad == logits.end() ? logits.begin() : bad;
  fail(ErrorKind::NonFinite,
       "generate: after {} token{} the model's logits are not finite: that of id {} is {}\n"
       "hint: the model's weights are damaged, or its training diverged; take an earlier checkpoint",
       tokens, tokens == 1 ? "" : "s", at - logits.begin(), std::isnan(*at) ? "nan" : "infinite");
}

// Texts of different prompts, too, draw from different random numbers.
Key key_of(const Request& request) {
  const auto prompt = std::as_bytes(std::span(request.prompt));
  const auto key = Key::from_seed(request.options.seed)
                       .fold("generate")
                       .fold(std::string_view(reinterpret_cast<const char*>(prompt.data()), prompt.size()));
  return request.options.sample == 0 ? key : key.fold("sample").fold(request.options.sample);
}

}  // namespace

struct Engine::Text {
  Id id;
  Request request;
  OnToken on_token;
  std::int64_t longest;  // prompt included
  Key key = key_of(request);
  std::int64_t row = -1;  // of the cache, once there is one
  Ids unread;             // what the cache does not hold yet, in order
  bool grows = false;     // all but the last token is read: it belongs to the next pass over all rows
  bool ended = false;
  Generated out;

  std::int64_t length() const { return std::ssize(request.prompt) + std::ssize(out.ids); }
  Ids whole() const {
    auto all = request.prompt;
    all.insert(all.end(), out.ids.begin(), out.ids.end());
    return all;
  }
  std::int64_t capacity() const { return std::max(longest, kShort); }  // what fills a batch up included
  bool reads_prompt() const { return !ended && !grows && out.ids.empty(); }

  std::int32_t choose(std::span<const float> logits) const {
    const auto token_key = key.fold(out.ids.size());
    const auto& options = request.options.sampling;
    if (!options.penalizes()) return sample(logits, options, token_key);
    std::vector<float> changed(logits.begin(), logits.end());
    penalize(changed, options, request.prompt, out.ids);
    return sample(changed, options, token_key);
  }
};

struct Engine::ReadPrompt {
  Ids prompt;
  std::int64_t row;
  std::vector<float> logits;
};

Engine::Engine(const nn::LanguageModel& model, EngineOptions options)
    : model_(model), shape_(model.shape()), options_(options), cache_(shape_.layers) {
  if (options_.rows < 1 || options_.prompt_tokens < 1)
    fail(ErrorKind::InvalidArgument,
         "engine: {} rows and {} tokens of prompts a step\nhint: at least one of each", options_.rows,
         options_.prompt_tokens);
}
Engine::~Engine() = default;

Engine::Id Engine::add(Request request, OnToken on_token) {
  require_prompt(shape_, request.prompt);
  const auto longest = std::min(shape_.seq_len, std::ssize(request.prompt) + request.options.max_new_tokens);
  waiting_.push_back(std::make_unique<Text>(Text{next_, std::move(request), std::move(on_token), longest}));
  return next_++;
}

bool Engine::cancel(Id id) {
  const auto is_it = [&](const auto& text) { return text->id == id && !text->ended; };
  if (const auto found = std::find_if(active_.begin(), active_.end(), is_it); found != active_.end()) {
    end(**found, Finish::Caller);
    return true;
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  if (found == waiting_.end()) return false;
  end(**found, Finish::Caller);
  waiting_.erase(found);
  return true;
}

std::vector<Engine::Done> Engine::take_done() { return std::exchange(done_, {}); }

bool Engine::step() {
  sweep();
  admit();
  read_prompts();
  grow();
  sweep();
  return !active_.empty() || !waiting_.empty();
}

void Engine::admit() {
  while (!waiting_.empty() && growing() < options_.rows) {
    active_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    begin(*active_.back());
    sweep();  // some end at once
  }
  const auto is_wanted = [&](const ReadPrompt& read) {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const auto& text) { return text->request.prompt == read.prompt; });
  };
  std::erase_if(read_, [&](const ReadPrompt& read) {
    if (is_wanted(read)) return false;
    cache_.remove_row(read.row);
    return true;
  });
}

void Engine::begin(Text& text) {
  if (text.length() >= text.longest) return end(text, Finish::Length);
  const auto& prompt = text.request.prompt;
  const auto read =
      std::find_if(read_.begin(), read_.end(), [&](const ReadPrompt& r) { return r.prompt == prompt; });
  if (read == read_.end()) {
    text.unread = prompt;
    return;
  }
  text.row = cache_.fork(read->row, text.capacity());
  take(text, read->logits);
}

void Engine::read_prompts() {
  for (auto left = options_.prompt_tokens; left > 0;) {
    const auto texts = next_to_read(left);
    if (texts.empty()) return;
    left -= read_chunk(texts);
  }
}

// The first that has something to read, unless an earlier one is reading the same for both; with it those that may
// be read in the same pass, as far as there is room.
std::vector<Engine::Text*> Engine::next_to_read(std::int64_t room) {
  std::vector<Text*> texts;
  std::int64_t longest = 0, tokens = 0;
  for (auto& text : active_) {
    if (text->ended || text->grows) continue;
    const auto own = std::ssize(text->unread), n = std::max(longest, own);
    // Not more than half of what is computed fills up.
    const auto most = std::min(room, 2 * (tokens + own));
    if (!texts.empty() && (!are_read_together(*texts.front(), *text) || (std::ssize(texts) + 1) * n > most))
      continue;
    const bool comes_by_another =
        text->row < 0 && std::any_of(active_.begin(), active_.end(), [&](const auto& other) {
          return other->row >= 0 && other->reads_prompt() && other->request.prompt == text->request.prompt;
        });
    if (comes_by_another) continue;
    if (text->row < 0) text->row = cache_.add_row(text->capacity());
    texts.push_back(text.get());
    longest = n;
    tokens += own;
    if (n > kTogether) break;
  }
  return texts;
}

bool Engine::are_read_together(const Text& a, const Text& b) const {
  const auto is_whole = [&](const Text& text) { return text.row < 0 || cache_.length(text.row) == 0; };
  const auto n = std::ssize(a.unread), m = std::ssize(b.unread);
  return is_whole(a) && is_whole(b) && (n == m || std::max(n, m) <= kShort);
}

// To the next end of a chunk, or their own; the number of tokens.
std::int64_t Engine::read_chunk(const std::vector<Text*>& texts) {
  const Text& first = *texts.front();
  std::vector<std::int64_t> rows, own;
  for (const auto* text : texts) {
    rows.push_back(text->row);
    own.push_back(std::min(std::ssize(text->unread), kChunk - cache_.length(text->row) % kChunk));
  }
  const auto n = *std::max_element(own.begin(), own.end());
  Ids ids;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    auto& unread = texts[r]->unread;
    const auto end = unread.begin() + own[r];
    ids.insert(ids.end(), unread.begin(), end);
    ids.insert(ids.end(), static_cast<std::size_t>(n - own[r]), unread.front());
    unread.erase(unread.begin(), end);
  }
  const bool is_last = first.unread.empty();
  const auto last = is_last ? n - *std::min_element(own.begin(), own.end()) + 1 : 0;
  nn::CachePass pass = texts.size() == 1 ? nn::CachePass(cache_, rows, last, first.length())
                                         : nn::CachePass(cache_, rows, last, own);
  const auto logits = model_.logits(as_batch(std::ssize(rows), ids), {.cache = &pass});
  if (!is_last) return n;
  const auto values = all_logits(logits);
  const auto each = std::ssize(values) / (std::ssize(rows) * last);
  for (std::size_t r = 0; r < texts.size(); ++r) {
    const auto place = (static_cast<std::int64_t>(r) + 1) * last - 1 - (n - own[r]);
    const auto logits_of_last =
        std::span(values).subspan(static_cast<std::size_t>(place * each), static_cast<std::size_t>(each));
    if (texts[r]->out.ids.empty()) share_prompt(*texts[r], logits_of_last);
    take(*texts[r], logits_of_last);
  }
  return std::ssize(ids);
}

void Engine::share_prompt(Text& text, std::span<const float> logits) {
  if (text.ended) return;  // cancelled by another's on_token
  const auto is_same = [&](const auto& other) {
    return !other->ended && other->row < 0 && other->request.prompt == text.request.prompt;
  };
  if (std::any_of(waiting_.begin(), waiting_.end(), is_same)) {
    const auto length = std::ssize(text.request.prompt);
    read_.push_back({text.request.prompt, cache_.fork(text.row, length), {logits.begin(), logits.end()}});
  }
  for (std::size_t i = 0; i < active_.size() && !text.ended; ++i) {
    auto& other = *active_[i];
    if (!is_same(&other)) continue;
    other.row = cache_.fork(text.row, other.capacity());
    take(other, logits);
  }
}

void Engine::grow() {
  std::vector<Text*> texts;
  std::vector<std::int64_t> rows;
  Ids ids;
  for (auto& text : active_) {
    if (text->ended || !text->grows) continue;
    if (shape_.short_positions > 0 && text->length() == shape_.short_positions + 1) {
      cache_.truncate(text->row, 0);  // what is held is of no use to a longer text
      text->unread = text->whole();
      text->grows = false;
      continue;
    }
    texts.push_back(text.get());
    rows.push_back(text->row);
    ids.push_back(text->unread.front());
  }
  if (texts.empty()) return;
  nn::CachePass pass(cache_, rows);
  const auto logits = all_logits(model_.logits(as_batch(std::ssize(rows), ids), {.cache = &pass}));
  const auto each = logits.size() / texts.size();
  for (std::size_t r = 0; r < texts.size(); ++r) take(*texts[r], std::span(logits).subspan(r * each, each));
}

// Draws a text's next token.
void Engine::take(Text& text, std::span<const float> logits) {
  if (text.ended) return;
  require_finite(logits, text.length());
  if (see_) see_(text.id, logits);
  const auto id = text.choose(logits);
  const auto& options = text.request.options;
  if (std::find(options.stop_ids.begin(), options.stop_ids.end(), id) != options.stop_ids.end())
    return end(text, Finish::Stop);
  if (options.log_probs >= 0) text.out.log_probs.push_back(log_probs(logits, id, options.log_probs));
  text.out.ids.push_back(id);
  text.unread = {id};
  text.grows = true;
  if (text.on_token && !text.on_token(id)) return end(text, Finish::Caller);
  if (text.length() < text.longest) return;
  end(text, std::ssize(text.out.ids) < options.max_new_tokens ? Finish::Context : Finish::Length);
}

void Engine::end(Text& text, Finish finish) {
  if (text.ended) return;  // cancelled by its own on_token
  text.ended = true;
  text.out.finish = finish;
  if (text.row >= 0) cache_.remove_row(text.row);
  done_.push_back({text.id, std::move(text.out)});
}

void Engine::sweep() {
  std::erase_if(active_, [](const auto& text) { return text->ended; });
}

}  // namespace bora::infer
