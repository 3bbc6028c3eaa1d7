// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/store/documents.h"
#include "bora/tokenize/train/bpe_trainer.h"

namespace bora::run {

struct TextFile {
  std::string path;
  store::TextFormat format = {};
};

/// The text of files, one document (or piece of a long one) after the other, for the tokenizer trainer.
DocumentSource document_source(std::vector<TextFile> files);
DocumentSource document_source(const std::vector<std::string>& paths);

}  // namespace bora::run
