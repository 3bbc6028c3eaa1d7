// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace bora {

enum class ValueKind { Bool, Integer, Number, Duration };

/// A value as it was likely meant: 1k and 1,000 are 1000, 50% is 0.5, yes is true, 10min is 10m, and a minus or quotation
/// marks may come from a text program. Nothing where nobody knows.
std::optional<std::string> meant_value(std::string_view text, ValueKind kind);

}  // namespace bora
