// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Where files are cut into ranges and documents into pieces.
#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/store/document_readers.h"

namespace bora::store {
namespace {

constexpr std::size_t kWindow = 64 << 10;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string read_range(const ReadFile& file, std::uint64_t offset, std::size_t size) {
  std::string out(size, '\0');
  out.resize(file.read_at(offset, std::as_writable_bytes(std::span(out))));
  return out;
}

std::uint64_t next_line_start(const ReadFile& file, std::uint64_t offset) {
  for (std::uint64_t at = offset - 1; at < file.size(); at += kWindow) {  // offset itself may start a line
    const auto newline = read_range(file, at, kWindow).find('\n');
    if (newline != std::string::npos) return at + newline + 1;
  }
  return file.size();
}

std::uint64_t next_cut(const ReadFile& file, const std::string& path, std::uint64_t offset, Layout layout) {
  if (offset == 0 || offset >= file.size()) return std::min(offset, file.size());
  if (layout == Layout::Table) return next_table_part(path, offset, file.size());
  if (layout == Layout::Lines) return next_line_start(file, offset);
  const std::string window = read_range(file, offset, kWindow);
  return window.size() < kWindow ? file.size() : offset + piece_end(window);
}

}  // namespace

std::size_t piece_end(std::string_view text) {
  for (auto i = text.rfind('\n'); i != std::string_view::npos && i > 0; i = text.rfind('\n', i - 1)) {
    if (i + 1 < text.size() && !is_space(text[i - 1]) && !is_space(text[i + 1])) return i + 1;
  }
  if (const auto i = text.rfind('\n'); i != std::string_view::npos) return i + 1;
  if (const auto i = text.rfind(' '); i != std::string_view::npos && i > 0) return i;
  std::size_t i = text.size() - 1;
  while (i > 0 && continues_character(text[i])) --i;
  return i > 0 ? i : text.size();
}

ByteRange aligned_range(const Segment& segment) {
  const auto& source = segment.source;
  const FileFormat format = file_format(source.path);
  if (segment.begin == 0 && segment.end >= source.size) return {0, source.size};
  if (format.compression != Compression::None) {
    fail(ErrorKind::InvalidArgument, "data files: {} is compressed and can only be read from start to end",
         source.path);
  }
  if (format.layout == Layout::Json) {
    fail(ErrorKind::InvalidArgument, "data files: {} may be an array and can only be read from start to end",
         source.path);
  }
  const auto file = files().open(source.path);
  return {next_cut(*file, source.path, segment.begin, format.layout),
          next_cut(*file, source.path, segment.end, format.layout)};
}

}  // namespace bora::store
