// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora {

/// Regular expressions (ECMAScript) of what parse_duration and parse_bytes of text.h read, but for exponents of three
/// digits and numbers that 64 bits do not hold: for editors, which know no other language. A test compares them with the two.
inline constexpr const char* kDurationPattern =
    "^(-(0+\\.?0*|\\.0+)|[0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]{1,2})?[smhd]?$";
/// Whole bytes, or a number with a unit, which is rounded to whole bytes.
inline constexpr const char* kBytesPattern =
    "^[0-9]+([eE]\\+?[0-9]{1,2})?[ \\t]*B?[ \\t]*$|"
    "^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]{1,2})?[ \\t]*[kKMGTP]i?B[ \\t]*$";

}  // namespace bora
