// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/format.h"

namespace bora::store {

/// What to do where a file is not UTF-8.
enum class InvalidText {
  Refuse,   ///< an error with file, line and byte
  Replace,  ///< U+FFFD for each maximal part of a character, as browsers do
  Keep,     ///< the bytes reach the processor as they are; text files only, since JSON is UTF-8
};

/// refuse, replace, keep. Errors: Config for another name.
InvalidText parse_invalid_text(const std::string& name);
const std::vector<std::string>& invalid_text_names();

/// `text` with U+FFFD for what is no UTF-8: one for each maximal part of a character, one for any other byte
/// (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts").
std::string replace_invalid_utf8(std::string_view text);

/// Throws the Corruption error of invalid UTF-8 at `offset` of the file's (decompressed) text, which is read
/// again up to there to tell the line.
[[noreturn]] void fail_utf8(const Source& source, const FileFormat& format, std::uint64_t offset);

}  // namespace bora::store
