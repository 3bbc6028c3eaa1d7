// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

namespace bora::tokenize {

std::size_t Vocabulary::slot(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = std::hash<std::string_view>{}(text)&mask;
  while (slots_[i] >= 0 && this->text(slots_[i]) != text) i = (i + 1) & mask;
  return i;
}

void Vocabulary::reserve(std::size_t tokens) {
  spans_.reserve(tokens);
  texts_.reserve(8 * tokens);
  if (2 * tokens > slots_.size()) grow(std::bit_ceil(2 * tokens));
}

void Vocabulary::grow(std::size_t slots) {
  slots_.assign(std::max<std::size_t>(slots, 1024), -1);
  for (std::int32_t id = 0; id < size(); ++id) {
    if (has(id)) slots_[slot(text(id))] = id;
  }
}

bool Vocabulary::add(std::string_view text, std::int32_t id) {
  if (has(id)) return false;
  if (2 * static_cast<std::size_t>(count_ + 1) > slots_.size()) grow(2 * slots_.size());
  const std::size_t at = slot(text);
  if (slots_[at] >= 0) return false;
  put_at(at, text, id);
  return true;
}

void Vocabulary::put(std::string_view text, std::int32_t id) {
  if (2 * static_cast<std::size_t>(count_ + 1) > slots_.size()) grow(2 * slots_.size());
  put_at(slot(text), text, id);
}

void Vocabulary::put_at(std::size_t at, std::string_view text, std::int32_t id) {
  if (id >= size()) spans_.resize(static_cast<std::size_t>(id) + 1);
  spans_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(texts_.size()),
                                          static_cast<std::int32_t>(text.size())};
  texts_ += text;
  slots_[at] = id;
  ++count_;
}

std::optional<std::int32_t> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::int32_t id = slots_[slot(text)];
  return id >= 0 ? std::optional(id) : std::nullopt;
}

bool Vocabulary::has(std::int32_t id) const {
  return id >= 0 && id < size() && spans_[static_cast<std::size_t>(id)].size >= 0;
}

std::string_view Vocabulary::text(std::int32_t id) const {
  const Span& span = spans_[static_cast<std::size_t>(id)];
  return std::string_view(texts_).substr(span.begin, static_cast<std::size_t>(span.size));
}

Vocabulary Vocabulary::read(const JsonView& json) {
  Vocabulary vocabulary;
  vocabulary.reserve(std::min<std::size_t>(json.size(), kMaxIds));
  json.each_member([&](std::string_view text, const JsonView& value) {
    const std::int64_t id = value.integer();
    if (id < 0 || id >= kMaxIds) value.bad(fmt::format("is {}; ids are from 0 to {}", id, kMaxIds - 1));
    if (vocabulary.add(text, static_cast<std::int32_t>(id))) return;
    if (vocabulary.find(text)) value.bad("is there twice");
    value.bad(fmt::format("has id {}, which is that of {}", id,
                          json_string(vocabulary.text(static_cast<std::int32_t>(id)))));
  });
  return vocabulary;
}

void Vocabulary::write(std::string& out) const {
  out += '{';
  bool first = true;
  for (std::int32_t id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    if (!first) out += ',';
    first = false;
    append_json_string(out, text(id));
    out += ':';
    out += fmt::format_int(id).c_str();
  }
  out += '}';
}

}  // namespace bora::tokenize
