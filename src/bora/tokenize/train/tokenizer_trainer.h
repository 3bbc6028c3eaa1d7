// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/train/bpe_trainer.h"

namespace bora {

enum class TokenizerKind {
  Bpe,               ///< "bpe": byte-level BPE, as GPT-2 (bpe_trainer.h)
  SentencePieceBpe,  ///< "sentencepiece-bpe": BPE over characters, ▁ for spaces, bytes for the rest (Llama 2)
  Unigram,           ///< "unigram": the unigram language model (Kudo 2018), with the same ▁ and bytes
  WordPiece,         ///< "wordpiece": lower-case words and their ##pieces, as BERT
};

/// The names above, in that order.
const std::vector<std::string>& tokenizer_kind_names();
/// Errors: InvalidArgument for another name.
TokenizerKind parse_tokenizer_kind(std::string_view name);

/// The least vocabulary of a kind, for a text of a single character: special tokens, bytes, and it.
std::int64_t least_vocab_size(TokenizerKind kind);

struct TokenizerTrainerConfig {
  TokenizerKind kind = TokenizerKind::Bpe;
  /// Ids in all.
  std::int64_t vocab_size = 32000;
  /// Pairs (unigram: substrings) that occur less often become no token.
  std::int64_t min_frequency = 2;
  /// All kinds but Bpe: the share of the text's characters that get a token of their own, most frequent
  /// first; the others are spelled in bytes, or are unknown (WordPiece). 0 < share <= 1; 0.9995 is
  /// SentencePiece's.
  double character_coverage = 0.9995;
  /// They follow those of the kind: <|endoftext|>; <unk> <s> </s>; [PAD] [UNK] [CLS] [SEP] [MASK].
  std::vector<std::string> more_special_tokens;
  /// 0: hardware_threads(). The result does not depend on it.
  int threads = 0;
  /// Called now and then with the work done and all the work; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// Learns a tokenizer of any kind. The same text gives the same file, whatever the threads. Documents of
/// SentencePieceBpe and Unigram come back from their ids unchanged, but for ▁ (U+2581), which is read as a
/// space, and invalid UTF-8, which becomes U+FFFD; WordPiece keeps neither case, accents nor spaces.
///
/// SentencePieceBpe and WordPiece make the merges of the trainer of `tokenizers` (whose WordPiece is BPE with
/// ## before what continues a word); Unigram follows Kudo 2018 and the trainer of SentencePiece (see
/// unigram_trainer.h). Errors: InvalidArgument for a vocabulary that cannot hold the special tokens, bytes
/// and characters, with the least that can; for special tokens that are empty, repeated or taken; for a text
/// without a character.
TrainedTokenizer train_tokenizer(const DocumentSource& documents, const TokenizerTrainerConfig& config = {});

}  // namespace bora
