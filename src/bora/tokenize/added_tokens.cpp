// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/added_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "bora/base/log.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

void TokenTrie::add(std::string_view text, std::int32_t value) {
  if (text.empty()) return;
  if (!common_) common_ = text;
  const auto differ = std::mismatch(common_->begin(), common_->end(), text.begin(), text.end()).first;
  common_->erase(differ, common_->end());
  if (nodes_.empty()) nodes_.emplace_back();  // node 0 stands for "none"
  std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
  if (node == 0) {
    node = static_cast<std::uint32_t>(nodes_.size());
    roots_[static_cast<unsigned char>(text[0])] = node;
    nodes_.emplace_back();
  }
  for (const char c : text.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto next = child(node, byte)) {
      node = *next;
      continue;
    }
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    auto& edges = nodes_[node].next;
    edges.insert(std::upper_bound(edges.begin(), edges.end(), std::pair{byte, std::uint32_t{0}}),
                 {byte, fresh});
    nodes_.emplace_back();
    node = fresh;
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

std::optional<std::uint32_t> TokenTrie::child(std::uint32_t node, unsigned char byte) const {
  const auto& edges = nodes_[node].next;
  const auto found = std::lower_bound(edges.begin(), edges.end(), std::pair{byte, std::uint32_t{0}});
  if (found == edges.end() || found->first != byte) return std::nullopt;
  return found->second;
}

/// The first place at or after `from` where a text may begin; the end of `text` if there is none.
std::size_t TokenTrie::candidate(std::string_view text, std::size_t from) const {
  if (common_->empty()) {
    while (from < text.size() && roots_[static_cast<unsigned char>(text[from])] == 0) ++from;
    return from;
  }
  // Its last byte is the one to look for: the ▁ in front of Llama's <s> is everywhere, the < is not.
  const std::size_t ahead = common_->size() - 1;
  for (std::size_t at = from + ahead; at < text.size(); ++at) {
    const void* p = std::memchr(text.data() + at, common_->back(), text.size() - at);
    if (p == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const char*>(p) - text.data());
    if (text.substr(at - ahead, ahead) == std::string_view(*common_).substr(0, ahead)) return at - ahead;
  }
  return text.size();
}

std::optional<TokenTrie::Found> TokenTrie::find(std::string_view text, std::size_t from) const {
  if (nodes_.empty()) return std::nullopt;
  for (std::size_t i = from; i < text.size(); ++i) {
    i = candidate(text, i);
    if (i == text.size()) return std::nullopt;
    std::optional<Found> best;
    std::uint32_t node = roots_[static_cast<unsigned char>(text[i])];
    for (std::size_t j = i + 1;; ++j) {
      if (nodes_[node].value >= 0) best = {{i, j}, nodes_[node].value};
      if (j == text.size()) break;
      const auto next = child(node, static_cast<unsigned char>(text[j]));
      if (!next) break;
      node = *next;
    }
    if (best) return best;
  }
  return std::nullopt;
}

void AddedTokens::add(AddedToken token) {
  ids_[token.content] = token.id;
  if (token.special) special_.insert(token.content);
  const std::int32_t id = token.id;
  by_id_.insert_or_assign(id, std::move(token));
}

void AddedTokens::index(const Normalizer* normalizer, std::string_view where) {
  tries_ = {};
  for (const bool special : {true, false}) {  // the first of two that normalize to one text is found
    for (const auto& [id, token] : by_id_) {
      if (token.special != special) continue;
      std::string wanted = token.content;
      if (token.normalized && normalizer != nullptr) {
        AlignedText text(token.content, 0, false);
        normalizer->apply(text);
        wanted = text.text();
        if (wanted.empty()) {
          log_warning(
              "{}: the normalizer leaves nothing of {}; it is never found in a text\nhint: give it "
              "\"normalized\": false",
              where, json_string(token.content));
        }
      }
      tries_[token.normalized].add(wanted, id);
    }
  }
}

AddedTokens AddedTokens::read(const std::optional<JsonView>& json, const Vocabulary& vocabulary,
                              const Normalizer* normalizer) {
  AddedTokens tokens;
  if (!json) return tokens;
  std::int64_t next = vocabulary.count();
  json->each_item([&](const JsonView& item) {
    AddedToken token;
    token.content = item.at("content").string();
    token.special = item.boolean("special", false);
    token.normalized = item.boolean("normalized", !token.special);
    token.single_word = item.boolean("single_word", false);
    token.lstrip = item.boolean("lstrip", false);
    token.rstrip = item.boolean("rstrip", false);
    const std::int64_t given = item.at("id").integer();
    if (given < 0 || given >= Vocabulary::kMaxIds) {
      item.at("id").bad(fmt::format("is {}; ids are from 0 to {}", given, Vocabulary::kMaxIds - 1));
    }
    if (token.content.empty()) return;
    const AddedToken* earlier = tokens.find(token.content);
    token.id = static_cast<std::int32_t>(next);
    if (const auto known = vocabulary.find(token.content))
      token.id = *known;
    else if (earlier != nullptr)
      token.id = earlier->id;
    if (given != token.id) {
      log_warning("{}: {} gets id {}, as in `tokenizers`, not {}", item.where(), json_string(token.content),
                  token.id, given);
    }
    next = std::max<std::int64_t>(next, token.id + std::int64_t{1});
    tokens.add(std::move(token));
  });
  tokens.index(normalizer, json->where());
  return tokens;
}

void AddedTokens::write(std::string& out) const {
  out += '[';
  bool first = true;
  for (const auto& [id, t] : by_id_) {
    if (!first) out += ',';
    first = false;
    out += fmt::format(
        R"({{"id":{},"content":{},"single_word":{},"lstrip":{},"rstrip":{},"normalized":{},"special":{}}})",
        id, json_string(t.content), t.single_word, t.lstrip, t.rstrip, t.normalized, t.special);
  }
  out += ']';
}

bool AddedTokens::take(std::string_view text, const TokenTrie::Found& found, std::size_t& done,
                       std::vector<AddedPart>& parts) const {
  const AddedToken& token = by_id_.at(found.value);
  auto [begin, end] = found.range;
  if (token.single_word) {
    const bool left = begin > 0 && is_word(code_point_at(text.data() + previous_start(text, begin)).value);
    const bool right = end < text.size() && is_word(code_point_at(text.data() + end).value);
    if (left || right) return false;
  }
  while (token.lstrip && begin > done) {
    const std::size_t before = previous_start(text, begin);
    if (!is_white_space(code_point_at(text.data() + before).value)) break;
    begin = before;
  }
  if (token.lstrip) begin = std::max(begin, done);
  while (token.rstrip && end < text.size()) {
    const CodePoint c = code_point_at(text.data() + end);
    if (!is_white_space(c.value)) break;
    end += c.length;
  }
  if (done < begin) parts.push_back({{done, begin}, -1});
  if (begin < end) parts.push_back({{begin, end}, token.id});  // else an earlier token's rstrip took it
  done = end;
  return true;
}

void AddedTokens::split(std::string_view text, bool normalized, SpecialInText in_text,
                        std::vector<AddedPart>& parts) const {
  std::size_t done = 0;
  for (auto found = tries_[normalized].find(text, 0); found;
       found = tries_[normalized].find(text, found->range.end)) {
    if (in_text == SpecialInText::Ordinary && is_special(by_id_.at(found->value).content)) continue;
    take(text, *found, done, parts);
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, -1});
}

void AddedTokens::split(std::string_view text, bool normalized, const IsControl& is_control,
                        std::vector<AddedPart>& parts) const {
  std::size_t done = 0;
  for (auto found = tries_[normalized].find(text, 0); found;) {
    const bool refused = is_special(by_id_.at(found->value).content) && !is_control(found->range);
    if (!refused) take(text, *found, done, parts);
    found = tries_[normalized].find(text, refused ? found->range.begin + 1 : found->range.end);
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, -1});
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? nullptr : find(found->second);
}

bool AddedTokens::is_special(std::string_view content) const {
  return special_.contains(std::string(content));
}

}  // namespace bora::tokenize
