// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/unigram.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "bora/base/error.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr double kUnknownPenalty = 10;

ByteTrie trie_of(const std::vector<Unigram::Piece>& pieces) {
  std::vector<ByteTrie::Key> keys;
  keys.reserve(pieces.size());
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    keys.emplace_back(pieces[id].text, static_cast<std::int32_t>(id));
  }
  return ByteTrie(std::move(keys));
}

}  // namespace

double serde_json_number(double exact) {
  // Its decimal digits as an integer, then one multiplication or division by a power of ten (serde_json 1.0,
  // f64_from_parts). The digits are the shortest ones: those that Python and serde_json write.
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(exact), std::chars_format::scientific)
          .ptr;
  std::uint64_t digits = 0;
  int fraction = 0, exponent = 0;
  bool point = false;
  const char* p = text.data();
  for (; p < end && *p != 'e'; ++p) {
    if (*p == '.') {
      point = true;
    } else {
      digits = digits * 10 + static_cast<std::uint64_t>(*p - '0');
      fraction += point ? 1 : 0;
    }
  }
  if (p < end) std::from_chars(p[1] == '+' ? p + 2 : p + 1, end, exponent);
  exponent -= fraction;
  auto value = static_cast<double>(digits);
  for (; exponent < -308 && value != 0; exponent += 308) value /= 1e308;
  const double power = std::stod("1e" + std::to_string(std::min(std::abs(exponent), 308)));
  value = exponent >= 0 ? value * power : value / power;
  return exact < 0 ? -value : value;
}

Unigram::Unigram(std::vector<Piece> pieces, std::optional<std::int32_t> unk_id, bool byte_fallback)
    : trie_(trie_of(pieces)), unk_(unk_id), byte_fallback_(byte_fallback) {
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    vocabulary_.put(pieces[id].text, static_cast<std::int32_t>(id));
    scores_.push_back(pieces[id].score);
    weights_.push_back(serde_json_number(pieces[id].score));
    lowest = std::min(lowest, weights_.back());
  }
  unk_weight_ = lowest - kUnknownPenalty;
  for (std::size_t b = 0; b < 256; ++b) {
    fallback_[b] = byte_fallback ? vocabulary_.find(fmt::format("<0x{:02X}>", b)).value_or(-1) : -1;
  }
}

void Unigram::find_best(std::string_view text, std::vector<Best>& best) const {
  const auto consider = [&](Best& at, double score, std::size_t begin, std::int32_t id) {
    if (at.begin != Best::kNone && score <= at.score) return;
    at = {score, static_cast<std::uint32_t>(begin), id};
  };
  best.assign(text.size() + 1, {});
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t length = utf8_length(text[begin]);
    const double so_far = best[begin].score;
    bool alone = false;  // whether the character is a piece
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t end = begin; end < text.size() && trie_.step(node, text[end]);) {
      ++end;
      const std::int32_t id = trie_.value(node);
      if (id < 0) continue;
      consider(best[end], weights_[static_cast<std::size_t>(id)] + so_far, begin, id);
      alone |= end - begin == length;
    }
    if (!alone) {
      Best& at = best[begin + length];
      if (!unk_ && (at.begin == Best::kNone || unk_weight_ + so_far > at.score)) {
        fail(ErrorKind::InvalidArgument,
             "encode: {} is in no piece of the vocabulary, and the model (Unigram) has no unk_id",
             json_string(text.substr(begin, length)));
      }
      consider(at, unk_weight_ + so_far, begin, unk_.value_or(-1));
    }
    begin += length;
  }
}

void Unigram::append_unknown(std::string_view text, std::uint32_t begin, std::uint32_t end,
                             std::vector<Token>& out) const {
  const std::string_view unknown = text.substr(begin, end - begin);
  if (const auto id = vocabulary_.find(unknown)) {  // the unknown token itself, spelled out
    out.push_back({*id, begin, end});
    return;
  }
  const auto has_byte = [&](char b) { return fallback_[static_cast<unsigned char>(b)] >= 0; };
  if (byte_fallback_ && std::all_of(unknown.begin(), unknown.end(), has_byte)) {
    for (const char b : unknown) out.push_back({fallback_[static_cast<unsigned char>(b)], begin, end});
  } else {
    out.push_back({*unk_, begin, end});
  }
}

void Unigram::tokenize(std::string_view piece, std::vector<Token>& out) const {
  thread_local std::vector<Best> best;
  thread_local std::vector<Token> reversed;
  find_best(piece, best);
  reversed.clear();
  for (auto end = static_cast<std::uint32_t>(piece.size()); end > 0;) {
    const std::uint32_t begin = best[end].begin;
    if (unk_ == best[end].id && !reversed.empty() && unk_ == reversed.back().id) {
      reversed.back().begin = begin;
    } else {
      reversed.push_back({best[end].id, begin, end});
    }
    end = begin;
  }
  for (auto token = reversed.rbegin(); token != reversed.rend(); ++token) {
    if (unk_ == token->id)
      append_unknown(piece, token->begin, token->end, out);
    else
      out.push_back(*token);
  }
  if (best.capacity() > (std::size_t{1} << 20)) best = {};
}

std::string_view Unigram::text_of(const Token& token, std::string_view piece) const {
  return unk_ == token.id ? piece.substr(token.begin, token.end - token.begin) : vocabulary_.text(token.id);
}

void Unigram::write(std::string& out) const {
  out += R"({"type":"Unigram","unk_id":)" + (unk_ ? fmt::format("{}", *unk_) : "null") + ",\"vocab\":[";
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    out += id > 0 ? ",[" : "[";
    append_json_string(out, vocabulary_.text(static_cast<std::int32_t>(id)));
    out += fmt::format(",{}]", scores_[id]);
  }
  out += fmt::format("],\"byte_fallback\":{}}}", byte_fallback_);
}

std::unique_ptr<const Model> read_unigram(const JsonView& json) {
  std::vector<Unigram::Piece> pieces;
  const JsonView vocab = json.at("vocab");
  vocab.each_item([&](const JsonView& item) {
    std::size_t n = 0;
    Unigram::Piece piece;
    item.each_item([&](const JsonView& member) {
      if (n == 0) piece.text = member.string();
      if (n == 1) piece.score = member.number();
      ++n;
    });
    if (n != 2) item.bad(fmt::format("should be a piece and its score but has {} members", n));
    pieces.push_back(std::move(piece));
  });
  if (static_cast<std::int64_t>(pieces.size()) > Vocabulary::kMaxIds) {
    vocab.bad(fmt::format("has {} pieces; at most {} are read", pieces.size(), Vocabulary::kMaxIds));
  }
  std::optional<std::int32_t> unk;
  if (const auto id = json.find("unk_id")) {
    if (id->integer() < 0 || id->integer() >= static_cast<std::int64_t>(pieces.size())) {
      id->bad(fmt::format("is {}, which is no id of the {} of the vocabulary", id->integer(), pieces.size()));
    }
    unk = static_cast<std::int32_t>(id->integer());
  }
  return std::make_unique<Unigram>(std::move(pieces), unk, json.boolean("byte_fallback", false));
}

}  // namespace bora::tokenize
