// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/stream_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "bora/unicode/unicode.h"

namespace bora {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kWindow = 24;  // ids after which the window is cut down to
constexpr std::size_t kContext = 4;  // at least these: what decoders need to see of the past
constexpr int kOpenBytes = 3;        // an unfinished character has at most three bytes

}  // namespace

StreamDecoder::StreamDecoder(Tokenizer tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

std::string StreamDecoder::take(const std::string& text, std::size_t stable) {
  // A byte-fallback run that turned out ill-formed can be shorter than what was given out.
  while (given_ < stable && bora::is_continuation(text[given_])) ++given_;
  if (stable <= given_) return {};
  std::string out = text.substr(given_, stable - given_);
  given_ = stable;
  return out;
}

void StreamDecoder::shorten(const std::string& text) {
  if (window_.size() < kWindow || (open_ids_ > 0 && open_ids_ <= kOpenBytes)) return;
  const std::size_t open = text.size() - std::min(given_, text.size());
  for (std::size_t context = kContext; context < kWindow / 2; ++context) {
    const std::vector<std::int32_t> rest(window_.end() - static_cast<std::ptrdiff_t>(context), window_.end());
    const std::string kept = tokenizer_.decode(rest, skip_special_);
    // Decoders treat the start of a text specially: the kept ids must stand for some text already given out,
    // and not begin inside a character.
    if (kept.size() <= open || kept.starts_with(kReplacement) || !text.ends_with(kept)) continue;
    window_ = rest;
    given_ = kept.size() - open;
    return;
  }
}

std::string StreamDecoder::push(std::int32_t id) {
  window_.push_back(id);
  const std::string text = tokenizer_.decode(window_, skip_special_);
  const std::string_view view = text;
  std::size_t stable = view.size();
  open_ids_ = view.ends_with(kReplacement) ? open_ids_ + 1 : 0;
  // While a character may still be completed nothing of the damage is final: with byte fallback, an open
  // character turns the whole run of bytes before it into U+FFFD. Afterwards the last three may still begin
  // one.
  for (int i = 0;
       (open_ids_ <= kOpenBytes || i < kOpenBytes) && view.substr(0, stable).ends_with(kReplacement); ++i) {
    stable -= kReplacement.size();
  }
  std::string out = take(text, stable);
  shorten(text);
  return out;
}

std::string StreamDecoder::finish() {
  const std::string text = tokenizer_.decode(window_, skip_special_);
  std::string out = take(text, text.size());
  window_.clear();
  given_ = 0;
  open_ids_ = 0;
  return out;
}

}  // namespace bora
