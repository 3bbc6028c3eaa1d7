// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora {

/// The classes that the pattern of o200k tells apart: CharClass with letters by case, and marks by
/// themselves.
enum class CaseClass : std::uint8_t {
  Other,
  Upper,  ///< Lu, Lt
  Lower,  ///< Ll
  Both,   ///< Lm, Lo
  Mark,   ///< M
  Number,
  Space,
};

/// The class of every code point (Unicode 16), a table of kCodePoints entries; built once.
const CaseClass* case_classes();

}  // namespace bora
