// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/error.h"

// What all fuzz targets share. A target is one file with the function that libFuzzer calls; it passes the
// input to one parser. Any outcome is good but a crash, a leak, undefined behaviour, an exception that is not
// a bora::Error, or more than a second.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace bora::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes the first byte off the input, for choices; 0 if there is none.
inline std::uint8_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

/// Takes what stands before `end` off the input, and `end`.
inline std::string_view take_until(std::string_view& input, char end) {
  const auto at = input.find(end);
  const std::string_view part = input.substr(0, at);
  input.remove_prefix(at == std::string_view::npos ? input.size() : at + 1);
  return part;
}

/// Runs `body`, which may refuse its input.
template <class Body>
int refuse_or_accept(const Body& body) {
  try {
    body();
  } catch (const Error&) {
    return 0;
  }
  return 0;
}

}  // namespace bora::fuzz
