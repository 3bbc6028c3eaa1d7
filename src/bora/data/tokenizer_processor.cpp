// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/tokenizer_processor.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "bora/base/error.h"

namespace bora::data {

TokenizerProcessor::TokenizerProcessor(Tokenizer tokenizer, bool enforce_eos)
    : tokenizer_(std::move(tokenizer)) {
  // What stands around a text shows what the post-processor adds.
  std::vector<std::int32_t> bare;
  tokenizer_.encode_ids("a", bare, false);
  const auto around = tokenizer_.encode("a", true).ids;
  const auto at = std::search(around.begin(), around.end(), bare.begin(), bare.end());
  prefix_.assign(around.begin(), at);
  if (at != around.end()) suffix_.assign(at + static_cast<std::ptrdiff_t>(bare.size()), around.end());

  const auto bos = tokenizer_.bos_id(), eos = tokenizer_.eos_id();
  if (enforce_eos && !eos) {
    fail(ErrorKind::Config,
         "tokenizer: it has no end-of-text token to put between documents\nhint: data.enforce_eos: false");
  }
  if (enforce_eos && (suffix_.empty() || suffix_.back() != *eos)) suffix_.push_back(*eos);
  const bool ends_with_bos = bos && !suffix_.empty() && suffix_.back() == *bos;
  if (bos && !ends_with_bos && (prefix_.empty() || prefix_.front() != *bos))
    prefix_.insert(prefix_.begin(), *bos);
  find_lead();
}

// A tokenizer may put something before a text (Llama 2's space) that has no place inside a document. Pieces
// end after a line end: with one before it, a piece is read as what follows it.
void TokenizerProcessor::find_lead() {
  const auto ids = [this](std::string_view text) {
    std::vector<std::int32_t> out;
    tokenizer_.encode_ids(text, out, false, SpecialInText::Ordinary);
    return out;
  };
  auto apart = ids("ab\n");
  const auto whole = ids("ab\ncd"), lead = ids("\n"), after = ids("\ncd"), own = ids("cd");
  auto plain = apart;
  plain.insert(plain.end(), own.begin(), own.end());
  if (plain == whole || after.size() < lead.size() || !std::equal(lead.begin(), lead.end(), after.begin()))
    return;
  apart.insert(apart.end(), after.begin() + static_cast<std::ptrdiff_t>(lead.size()), after.end());
  if (apart == whole) lead_ = lead.size();
}

std::string TokenizerProcessor::fingerprint() const {
  return fmt::format("{} [{}] text, special tokens in it as plain text [{}]", tokenizer_.fingerprint().hex(),
                     fmt::join(prefix_, " "), fmt::join(suffix_, " "));
}

void TokenizerProcessor::encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const {
  if (piece.begins_document) out.insert(out.end(), prefix_.begin(), prefix_.end());
  if (piece.begins_document || lead_ == 0) {
    tokenizer_.encode_ids(piece.text, out, false, SpecialInText::Ordinary);
  } else {
    std::vector<std::int32_t> ids;
    tokenizer_.encode_ids("\n" + std::string(piece.text), ids, false, SpecialInText::Ordinary);
    out.insert(out.end(), ids.begin() + static_cast<std::ptrdiff_t>(lead_), ids.end());
  }
  if (piece.ends_document) out.insert(out.end(), suffix_.begin(), suffix_.end());
}

}  // namespace bora::data
