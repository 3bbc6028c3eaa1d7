// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A SentencePiece .model, and a text that it tokenizes.
#include "bora/tokenize/formats/sentencepiece_file.h"
#include "bora/tokenize/tokenizer.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const std::string_view bytes = fuzz::text_of(data, size);
  return fuzz::refuse_or_accept([&] {
    tokenize::read_sentencepiece_file(bytes, "m.model");
    const fuzz::MemoryFiles files({{"d/m.model", std::string(bytes)}});
    const Tokenizer tokenizer = Tokenizer::load("d/m.model");
    (void)tokenizer.decode(tokenizer.encode(" Hello \xE2\x96\x81 na\xC3\xAFve\n<s>").ids);
  });
}
