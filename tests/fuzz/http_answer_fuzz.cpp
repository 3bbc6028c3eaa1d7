// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a server says of itself: where it lies, where it leads to, and two of its headers. Four lines.
#include <algorithm>

#include "bora/base/text.h"
#include "bora/store/http_rules.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  auto input = fuzz::text_of(data, size);
  const auto address = fuzz::take_until(input, '\n'), to = fuzz::take_until(input, '\n'),
             length = fuzz::take_until(input, '\n');
  (void)store::closed_network(address);
  const auto bytes = store::parse_content_length(length);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (bytes && (*bytes < 0 || !std::all_of(length.begin(), length.end(), is_digit))) __builtin_trap();
  if (store::is_header_value(input) && input.find_first_of("\r\n") != input.npos) __builtin_trap();
  return fuzz::refuse_or_accept([&] {
    store::check_redirection("https://a/b", to);
    if (!ascii_lower(to).starts_with("https")) __builtin_trap();
  });
}
