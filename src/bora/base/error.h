// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace bora {

/// What went wrong, coarse enough to decide an exit code and whether to try again.
enum class ErrorKind {
  Usage,            ///< the command line
  Config,           ///< a configuration file or value
  InvalidArgument,  ///< a programmer's or a model's mistake: axes, sizes, dtypes
  NotFound,         ///< a file or entry that should exist does not
  Corruption,       ///< bytes that contradict their own checksum, header or format
  Unsupported,      ///< well formed, but not something Bora does
  Io,               ///< the operating system refused
  Stopped,          ///< stopped early, resumable
  NonFinite,        ///< infinity or NaN where numbers must be finite: the same run meets it again
};

/// The one exception of Bora. The text reads `who: what is wrong, both sides with names and sizes`, then, on
/// a line of its own, `hint: the next action` where one is likely.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Throws Error{kind} with a message formatted by fmt.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Runs `body`; an Error that leaves it gains `context` in front: "while restoring x from y: ...".
template <class Body>
decltype(auto) in_context(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", context, e.what()));
  }
}

/// Process exit code of an error: 2 usage or configuration, 3 data or checkpoint, 4 numbers that are not
/// finite (something must change first), 75 stopped early and resumable, 1 everything else.
int exit_code(ErrorKind kind) noexcept;

}  // namespace bora
