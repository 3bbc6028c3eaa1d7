// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/tokenize/bpe_trainer.h"

namespace bora::app {

/// The text of files, one document (or piece of a long one) after the other, for the tokenizer trainer.
DocumentSource document_source(std::vector<std::string> paths);

}  // namespace bora::app
