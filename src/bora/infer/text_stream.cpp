// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/text_stream.h"

#include <utility>

namespace bora::infer {

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const std::int32_t> prompt,
                       std::vector<std::string> stops)
    : decoder_(tokenizer), stops_(std::move(stops)) {
  for (const auto id : prompt) decoder_.push(id);  // the first word to come is not the first of the text
}

std::string TextStream::push(std::int32_t id) { return stops_.push(decoder_.push(id)); }

std::string TextStream::finish() {
  std::string out = stops_.push(decoder_.finish());
  return out + stops_.finish();
}

}  // namespace bora::infer
