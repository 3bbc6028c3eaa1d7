// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A regex, a NUL, and a text that it splits.
#include "bora/base/text.h"
#include "bora/unicode/pattern.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  std::string_view text = fuzz::text_of(data, size);
  const std::string_view source = fuzz::take_until(text, '\0');
  if (invalid_utf8(text)) return -1;
  return fuzz::refuse_or_accept([&] {
    const auto pattern = bora::Pattern::regex(std::string(source), "pattern");
    std::size_t covered = 0;
    for (const auto& part : pattern.parts(text)) {
      if (part.range.begin != covered) __builtin_trap();
      covered = part.range.end;
    }
    if (covered != text.size()) __builtin_trap();
    (void)pattern.replace(text, "_");
  });
}
