// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "bora/jinja/value.h"

namespace bora::jinja {

/// Python's str(value): what {{ value }} writes. Strings keep their origins.
Text to_text(Guard& guard, const Value& value);
/// Python's repr(value).
Text repr(Guard& guard, const Value& value);
/// repr of a float: the shortest digits that read back, exponents below -4 and from 16 on.
std::string float_text(double value);
std::string string_repr(std::string_view text);

/// json.dumps.
struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< one level of it; absent: all on one line
  std::string item_separator = ", ", key_separator = ": ";
};
std::string to_json(Guard& guard, const Value& value, const JsonStyle& style);

}  // namespace bora::jinja
