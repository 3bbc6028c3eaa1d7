// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::jinja {

/// What is known about a byte, as bits. No bit: it came with the conversation, or nobody knows.
using Origin = std::uint8_t;
inline constexpr Origin kUnknown = 0;
inline constexpr Origin kControl = 1;    ///< the template's author wrote it
inline constexpr Origin kAssistant = 2;  ///< {% generation %} enclosed it

/// UTF-8 text in which every byte knows its origin. Cutting and joining keep it; whoever rewrites bytes says
/// what the new ones are.
class Text {
 public:
  struct Run {
    std::size_t end;
    Origin origin;
  };

  Text() = default;
  Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
    if (!bytes_.empty()) runs_.push_back({bytes_.size(), origin});
  }

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// Consecutive stretches that cover the text, neighbours unlike; none is empty.
  const std::vector<Run>& runs() const { return runs_; }

  /// The bits that all bytes of [begin, end) share (all bits for an empty range).
  Origin common_origin(std::size_t begin, std::size_t end) const;
  /// kControl or kUnknown: what a text made of the whole of this one is.
  Origin summary() const { return common_origin(0, size()) & kControl; }

  /// Bytes [begin, end).
  Text slice(std::size_t begin, std::size_t end) const;
  void append(const Text& other) { append(other, 0, other.size()); }
  void append(const Text& other, std::size_t begin, std::size_t end);
  void append(std::string_view bytes, Origin origin);
  /// Adds `bits` to the bytes from `begin` on.
  void mark(std::size_t begin, Origin bits);

  /// HTML-safe, as markupsafe.Markup: what is added to it is escaped.
  bool markup = false;

 private:
  void extend(std::size_t end, Origin origin);

  std::string bytes_;
  std::vector<Run> runs_;
};

/// Code points of valid UTF-8.
std::size_t code_points(std::string_view text);
/// Byte offset of code point `index`, or the text's size if it has fewer.
std::size_t offset_of(std::string_view text, std::size_t index);
/// `text` with &, <, >, ' and " as HTML entities.
Text escaped(const Text& text);

}  // namespace bora::jinja
