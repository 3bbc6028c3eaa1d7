// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/tokenizer.h"

namespace bora {

/// Yields the documents one after the other, then nothing. A view must live until the next call.
using DocumentSource = std::function<std::optional<std::string_view>()>;

/// Byte-level BPE (Sennrich et al. 2016; Radford et al. 2019), learned as the trainer of `tokenizers` does:
/// the same merges for the same text.
struct BpeTrainerConfig {
  /// Ids in all: special tokens, the 256 bytes, merges. At least the first two.
  std::int64_t vocab_size = 32000;
  /// Pairs that occur less often are not merged.
  std::int64_t min_frequency = 2;
  /// They get the first ids: 0, 1, ...
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
  /// 0: hardware_threads(). The result does not depend on it.
  int threads = 0;
  /// Called now and then with the merges made and the merges wanted; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

struct TrainedTokenizer {
  Tokenizer tokenizer;
  std::int64_t text_bytes = 0;
  std::int64_t merges = 0;
  /// Empty, or why the vocabulary is smaller than asked for.
  std::string warning;
};

/// Learns a vocabulary from all documents: pre-tokens by GPT-2's pattern, no prefix space, invalid UTF-8 read
/// as U+FFFD. Ties between pairs of equal count go to the smaller left id, then the smaller right id. Errors:
/// InvalidArgument for a vocabulary too small for the bytes and special tokens, empty or repeated special
/// tokens, or text without a single byte.
TrainedTokenizer train_bpe(const DocumentSource& documents, const BpeTrainerConfig& config = {});

}  // namespace bora
