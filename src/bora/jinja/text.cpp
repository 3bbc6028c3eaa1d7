// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/text.h"

#include <algorithm>

#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

// The run that holds byte `at`.
auto run_at(const std::vector<Text::Run>& runs, std::size_t at) {
  return std::upper_bound(runs.begin(), runs.end(), at,
                          [](std::size_t value, const Text::Run& run) { return value < run.end; });
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    case '"':
      return "&#34;";
    default:
      return {};
  }
}

}  // namespace

void Text::extend(std::size_t end, Origin origin) {
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = end;
  } else {
    runs_.push_back({end, origin});
  }
}

Origin Text::common_origin(std::size_t begin, std::size_t end) const {
  Origin shared = 0xFF;
  if (begin >= end) return shared;
  for (auto run = run_at(runs_, begin); run != runs_.end(); ++run) {
    shared &= run->origin;
    if (run->end >= end) break;
  }
  return shared;
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text out;
  out.markup = markup;
  out.append(*this, begin, end);
  return out;
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const std::size_t base = size();
  bytes_.append(other.bytes_, begin, end - begin);
  for (auto run = run_at(other.runs_, begin); run != other.runs_.end(); ++run) {
    extend(base + std::min(run->end, end) - begin, run->origin);
    if (run->end >= end) break;
  }
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  extend(bytes_.size(), origin);
}

void Text::mark(std::size_t begin, Origin bits) {
  if (begin >= size()) return;
  const auto first = run_at(runs_, begin);
  const std::vector<Run> tail(first, runs_.cend());
  runs_.erase(first, runs_.cend());
  if (begin > (runs_.empty() ? 0 : runs_.back().end)) extend(begin, tail.front().origin);
  for (const Run& run : tail) extend(run.end, run.origin | bits);
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !bora::is_continuation(c); }));
}

std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += bora::utf8_length(text[at]);
  return std::min(at, text.size());
}

Text escaped(const Text& text) {
  Text out;
  out.markup = true;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view by = entity(text.bytes()[i]);
    if (by.empty()) continue;
    out.append(text, start, i);
    out.append(by, text.common_origin(i, i + 1));
    start = i + 1;
  }
  out.append(text, start, text.size());
  return out;
}

}  // namespace bora::jinja
