// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <optional>

#include "bora/tokenize/normalize/normalizer.h"

namespace bora::tokenize {

struct BertNormalizerConfig {
  bool clean_text = true;             ///< control characters go, white space becomes a space
  bool handle_chinese_chars = true;   ///< spaces around CJK ideographs
  std::optional<bool> strip_accents;  ///< NFD without nonspacing marks; as `lowercase` if not given
  bool lowercase = true;
};

/// The text preparation of BERT (Devlin et al. 2018, tokenization.py).
std::unique_ptr<const Normalizer> bert_normalizer(const BertNormalizerConfig& config);

}  // namespace bora::tokenize
