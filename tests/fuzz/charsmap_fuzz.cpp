// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A length, a text, and the trie of a Precompiled normalizer, which is applied to the text.
#include "bora/base/text.h"
#include "bora/tokenize/normalize/charsmap.h"
#include "bora/tokenize/normalize/precompiled.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  std::string_view rest = fuzz::text_of(data, size);
  const std::string_view text = rest.substr(0, fuzz::take_byte(rest));
  rest.remove_prefix(std::min(text.size(), rest.size()));
  if (invalid_utf8(text)) return -1;
  return fuzz::refuse_or_accept([&] {
    const tokenize::Charsmap charsmap{std::string(rest), "trie"};
    for (std::size_t i = 0; i < text.size(); ++i) {
      (void)charsmap.shortest(text.substr(i));
      (void)charsmap.longest(text.substr(i));
    }
    tokenize::AlignedText aligned(text, 0, true);
    tokenize::Precompiled(charsmap).apply(aligned);
    (void)tokenize::from_base64(rest);
  });
}
