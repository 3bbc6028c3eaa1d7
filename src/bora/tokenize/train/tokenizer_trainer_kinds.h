// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/vocabulary.h"
#include "bora/tokenize/train/tokenizer_trainer.h"
#include "bora/tokenize/train/tokenizer_trainer_alphabet.h"

namespace bora::tokenize {

// One function for each kind; the configuration's kind does not matter. Errors as train_tokenizer().
TrainedTokenizer train_sentencepiece_bpe(const DocumentSource& documents,
                                         const TokenizerTrainerConfig& config);
TrainedTokenizer train_unigram(const DocumentSource& documents, const TokenizerTrainerConfig& config);
TrainedTokenizer train_wordpiece(const DocumentSource& documents, const TokenizerTrainerConfig& config);

/// Those of the kind and the configuration's, checked: not empty, UTF-8, none twice, no <0xHH>.
std::vector<std::string> special_tokens(std::string_view who, std::vector<std::string> of_kind,
                                        const TokenizerTrainerConfig& config);

/// Words and alphabet of a text; the views in `words` live as long as `counts`.
struct TrainingWords {
  WordCounts counts;
  std::vector<WordCounts::Word> words;
  Alphabet alphabet;
  std::int64_t text_bytes = 0;
};

/// Errors: InvalidArgument for a coverage that is no share; for no text.
TrainingWords training_words(std::string_view who, const DocumentSource& documents,
                             const TokenizerTrainerConfig& config, const WordSplitter& split);

/// Fails with the least vocabulary if `vocab_size` is below it. `parts`: what it is made of, in words.
void check_vocab_size(std::string_view who, std::int64_t vocab_size, std::int64_t least,
                      std::string_view parts);

/// The words of SentencePieceBpe and Unigram: ▁ (for a space) and what follows it, runs of newlines on their
/// own; a document starts with ▁.
void split_metaspace(std::string_view part, bool begins, WordCounts& counts);

/// tokenizer.json around a model (JSON) whose first ids are the special tokens.
///
/// Metaspace:
///   normalizer     Prepend ▁
///   pre_tokenizer  Split at runs of newlines; Metaspace, which adds nothing in front
///   decoder        ▁ to a space, bytes to characters, joined, less the first space
std::string metaspace_json(const std::vector<std::string>& special, std::string_view model);

/// BERT: BertNormalizer, lower case; BertPreTokenizer; [CLS] ... [SEP]; decoder WordPiece.
std::string bert_json(const std::vector<std::string>& special, std::string_view model);

}  // namespace bora::tokenize
