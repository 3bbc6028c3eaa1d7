// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A text, a NUL, and a tokenizer.json: loading it, and there and back with the text.
#include "bora/tokenize/tokenizer.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  std::string_view json = fuzz::text_of(data, size);
  const std::string_view text = fuzz::take_until(json, '\0');
  return fuzz::refuse_or_accept([&] {
    const Tokenizer tokenizer = Tokenizer::from_json(json);
    const auto ids = tokenizer.encode(text).ids;
    (void)tokenizer.decode(ids);
    std::vector<std::int32_t> fast;
    tokenizer.encode_ids(text, fast, true);
    if (fast != ids) __builtin_trap();  // the fast path gives what the slow one gives
  });
}
