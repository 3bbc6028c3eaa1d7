// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace bora {

/// Lines for people on standard error, prefixed "bora: "; further lines of one text are indented as far. What
/// may be secret in URLs is left out (secrets.h). A progress display registers itself to be cleared before
/// and redrawn after a line.
void log_line(std::string_view text);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line("warning: " + fmt::format(format, std::forward<Args>(args)...));
}

/// Hooks of a display that owns the last terminal line. Null to remove.
void set_log_hooks(void (*before)(), void (*after)());
/// --quiet: information is dropped, warnings stay.
void set_quiet(bool quiet);

}  // namespace bora
