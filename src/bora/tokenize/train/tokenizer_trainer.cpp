// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/train/tokenizer_trainer.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/json_view.h"
#include "bora/base/text.h"
#include "bora/tokenize/train/tokenizer_trainer_kinds.h"

namespace bora {

const std::vector<std::string>& tokenizer_kind_names() {
  static const std::vector<std::string> names = {"bpe", "sentencepiece-bpe", "unigram", "wordpiece"};
  return names;
}

TokenizerKind parse_tokenizer_kind(std::string_view name) {
  const auto& names = tokenizer_kind_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(ErrorKind::InvalidArgument, "tokenizer kind {} is not one of {}", bora::json_string(name),
         join(names));
  }
  return static_cast<TokenizerKind>(found - names.begin());
}

std::int64_t least_vocab_size(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::Bpe:
      return 1 + 256;
    case TokenizerKind::SentencePieceBpe:
      return 3 + 256 + 1;
    case TokenizerKind::Unigram:
      return 3 + 256 + 20;  // ▁, and the 19 characters that spell bytes
    case TokenizerKind::WordPiece:
      return 5 + 1;
  }
  return 0;
}

TrainedTokenizer train_tokenizer(const DocumentSource& documents, const TokenizerTrainerConfig& config) {
  switch (config.kind) {
    case TokenizerKind::SentencePieceBpe:
      return tokenize::train_sentencepiece_bpe(documents, config);
    case TokenizerKind::Unigram:
      return tokenize::train_unigram(documents, config);
    case TokenizerKind::WordPiece:
      return tokenize::train_wordpiece(documents, config);
    case TokenizerKind::Bpe:
      break;
  }
  BpeTrainerConfig bpe;
  bpe.vocab_size = config.vocab_size;
  bpe.min_frequency = config.min_frequency;
  bpe.special_tokens.insert(bpe.special_tokens.end(), config.more_special_tokens.begin(),
                            config.more_special_tokens.end());
  bpe.threads = config.threads;
  bpe.progress = config.progress;
  return train_bpe(documents, bpe);
}

}  // namespace bora
