// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>

#include "bora/store/processor.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::data {

/// Tokenizes documents for a cache. A document gets what the tokenizer's own post-processor adds; besides,
/// its beginning-of-text token in front and, with enforce_eos, its end-of-text token behind, where they are
/// not there already. If both are the same token (GPT-2), it stands between documents once, not twice. A
/// special token that is spelled out in a document is ordinary text: only this class places control ids.
class TokenizerProcessor final : public store::Processor {
 public:
  /// Errors: Config if enforce_eos is set and the tokenizer has no end-of-text token.
  TokenizerProcessor(Tokenizer tokenizer, bool enforce_eos);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::vector<std::int32_t>& prefix() const { return prefix_; }
  const std::vector<std::int32_t>& suffix() const { return suffix_; }

 private:
  Tokenizer tokenizer_;
  void find_lead();
  std::vector<std::int32_t> prefix_, suffix_;
  std::size_t lead_ = 0;  ///< ids of a line end, put before pieces that continue a document; 0: none is
};

}  // namespace bora::data
