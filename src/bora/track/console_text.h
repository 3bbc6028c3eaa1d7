// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bora::track {

/// Columns that UTF-8 text takes on a terminal: East Asian wide characters and emoji two, combining marks
/// none.
int display_width(std::string_view text);
/// Text that cannot harm a terminal: line ends become ⏎, other control characters \xNN, invalid UTF-8 U+FFFD.
/// What may be secret in URLs is left out (base/secrets.h).
std::string printable(std::string_view text);
/// At most `width` columns; a cut is marked with …
std::string fit(std::string_view text, int width);
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);
/// Lines of at most `width` columns, broken at spaces; a longer word stays whole.
std::vector<std::string> wrap(std::string_view text, int width);

std::string compact_count(double n);       ///< 950, 21.4k, 1.23M
std::string compact_scientific(double x);  ///< 2.9e-3, 3.0e-4, 0

/// A bar of `width` columns: ━━━━╸━━━, all ━ when complete. With colour the done part is cyan and the rest
/// dim.
std::string bar(double fraction, int width, bool color);

enum class Paint { Bold, Dim, Cyan };
std::string painted(std::string_view text, Paint paint, bool color);

}  // namespace bora::track
