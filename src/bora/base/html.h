// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// Text that HTML shows as it is, in attributes too: `&`, `<`, `>` and `"` are escaped; control characters
/// other than the line feed and the tab, which HTML does not allow, become U+FFFD.
std::string html_text(std::string_view text);

/// In the head of every page that Bora writes: such a page may be written anew.
inline constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"Bora\">";

}  // namespace bora
