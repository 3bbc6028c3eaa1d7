// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>

#include "bora/data/config.h"
#include "bora/data/tokenizer_processor.h"

namespace bora::data {

/// What turns the records of a data set into tokens. Chat templates come from the format, else from
/// config.chat_template, else from the directory config.tokenizer. Errors: Config where something is missing.
std::unique_ptr<store::Processor> make_processor(const FormatConfig& format, const DataConfig& config,
                                                 const Tokenizer& tokenizer);

/// For data sets of ids without any tokenizer ("passthrough").
/// Errors: Config for other formats than prebuilt, and without vocab_size.
std::unique_ptr<store::Processor> make_processor(const FormatConfig& format, const DataConfig& config);

}  // namespace bora::data
