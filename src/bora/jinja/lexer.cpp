// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/lexer.h"

#include <charconv>
#include <optional>

#include "bora/base/text.h"
#include "bora/jinja/string.h"
#include "bora/jinja/unicode.h"
#include "bora/unicode/unicode.h"

namespace bora::jinja {
namespace {

using TokenKind = Token::Kind;
using bora::code_point_at;

class Lexer {
 public:
  Lexer(Guard& guard, std::string source) : guard_(guard), source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    add(TokenKind::End, at_);
    return std::move(tokens_);
  }

 private:
  // Text up to the next tag, and the tag.
  void read_data();
  void read_tag(std::size_t begin, std::size_t end);
  void read_comment();
  void read_raw(std::size_t tag);
  void read_inside(TokenKind end_kind);
  bool read_end(TokenKind end_kind);
  void read_token();
  bool read_number();
  void read_string();
  void read_operator();
  void balance(char c);

  std::size_t next_tag(std::size_t from) const;
  std::size_t raw_tag_end(std::size_t tag) const;
  std::size_t end_raw(std::size_t tag) const;
  std::size_t block_end(std::size_t at) const;
  std::size_t after_space(std::size_t at) const {
    return at + leading_space(std::string_view(source_).substr(at));
  }
  bool has(std::size_t at, std::string_view what) const {
    return source_.compare(at, what.size(), what) == 0;
  }
  char sign(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }
  void add_data(std::size_t begin, std::size_t end, char sign_after, bool is_print);
  Token& add(TokenKind kind, std::size_t at, std::string text = {});
  Position position(std::size_t at);
  [[noreturn]] void fail(std::size_t at, std::string_view what) {
    guard_.at = position(at);
    guard_.stop(ErrorKind::Corruption, what);
  }
  // A tag starts a line if nothing but white space stands before it.
  void move_to(std::size_t at) {
    line_start_ = at > 0 && source_[at - 1] == '\n';
    at_ = at;
  }

  Guard& guard_;
  std::string source_;
  std::size_t at_ = 0;
  bool line_start_ = true;
  std::vector<Token> tokens_;
  std::vector<char> open_;  // closing brackets to come
  std::size_t counted_ = 0;
  Position counted_at_;
};

Position Lexer::position(std::size_t at) {
  for (; counted_ < at; ++counted_) {
    if (source_[counted_] == '\n') {
      ++counted_at_.line;
      counted_at_.column = 1;
    } else {
      ++counted_at_.column;
    }
  }
  return counted_at_;
}

Token& Lexer::add(TokenKind kind, std::size_t at, std::string text) {
  tokens_.push_back({kind, position(at), std::move(text)});
  return tokens_.back();
}

std::size_t Lexer::next_tag(std::size_t from) const {
  for (std::size_t at = source_.find('{', from); at != std::string::npos; at = source_.find('{', at + 1)) {
    if (has(at, "{{") || has(at, "{%") || has(at, "{#")) return at;
  }
  return std::string::npos;
}

// {% raw %}: the offset behind it, or npos if the tag is another.
std::size_t Lexer::raw_tag_end(std::size_t tag) const {
  if (!has(tag, "{%")) return std::string::npos;
  std::size_t at = tag + 2;
  if (sign(at) != '\0') ++at;
  at = after_space(at);
  if (!has(at, "raw")) return std::string::npos;
  at = after_space(at + 3);
  if (has(at, "-%}")) return after_space(at + 3);
  return has(at, "%}") ? at + 2 : std::string::npos;
}

// A block's end at `at`: the offset behind it and the white space that goes with it, or npos.
std::size_t Lexer::block_end(std::size_t at) const {
  if (has(at, "+%}")) return at + 3;
  if (has(at, "-%}")) return after_space(at + 3);
  if (!has(at, "%}")) return std::string::npos;
  return has(at + 2, "\n") ? at + 3 : at + 2;
}

std::size_t Lexer::end_raw(std::size_t tag) const {
  if (!has(tag, "{%")) return std::string::npos;
  std::size_t at = tag + 2;
  if (sign(at) != '\0') ++at;
  at = after_space(at);
  return has(at, "endraw") ? block_end(after_space(at + 6)) : std::string::npos;
}

void Lexer::add_data(std::size_t begin, std::size_t end, char sign_after, bool is_print) {
  std::string_view text = std::string_view(source_).substr(begin, end - begin);
  if (sign_after == '-') {
    text.remove_suffix(trailing_space(text));
  } else if (sign_after != '+' && !is_print) {
    const std::size_t newline = text.rfind('\n');
    if (newline != std::string_view::npos || line_start_) {
      const std::size_t line = newline + 1;  // npos + 1 is 0
      if (leading_space(text.substr(line)) == text.size() - line) text = text.substr(0, line);
    }
  }
  if (!text.empty()) add(TokenKind::Data, begin, std::string(text));
}

void Lexer::read_data() {
  const std::size_t tag = next_tag(at_);
  if (tag == std::string::npos) {
    add(TokenKind::Data, at_, source_.substr(at_));
    at_ = source_.size();
    return;
  }
  const char control = sign(tag + 2);
  add_data(at_, tag, control, source_[tag + 1] == '{');
  const std::size_t raw_end = raw_tag_end(tag);
  if (raw_end != std::string::npos) {
    move_to(raw_end);
    return read_raw(tag);
  }
  read_tag(tag, tag + (control == '\0' ? 2 : 3));
}

void Lexer::read_tag(std::size_t begin, std::size_t end) {
  move_to(end);
  switch (source_[begin + 1]) {
    case '#':
      return read_comment();
    case '{':
      add(TokenKind::PrintBegin, begin);
      return read_inside(TokenKind::PrintEnd);
    default:
      add(TokenKind::BlockBegin, begin);
      return read_inside(TokenKind::BlockEnd);
  }
}

void Lexer::read_comment() {
  const std::size_t start = at_;
  const std::size_t end = source_.find("#}", at_);
  if (end == std::string::npos) fail(start, "this comment does not end\nhint: close it with #}");
  const char before = end > start ? source_[end - 1] : '\0';
  if (before == '-') return move_to(after_space(end + 2));
  move_to(before != '+' && has(end + 2, "\n") ? end + 3 : end + 2);
}

void Lexer::read_raw(std::size_t tag) {
  for (std::size_t at = source_.find("{%", at_); at != std::string::npos; at = source_.find("{%", at + 1)) {
    const std::size_t end = end_raw(at);
    if (end == std::string::npos) continue;
    add_data(at_, at, sign(at + 2), false);
    return move_to(end);
  }
  fail(tag, "this raw block does not end\nhint: close it with {% endraw %}");
}

bool Lexer::read_end(TokenKind end_kind) {
  if (!open_.empty()) return false;
  std::size_t end = std::string::npos;
  if (end_kind == TokenKind::BlockEnd) {
    end = block_end(at_);
  } else if (has(at_, "-}}")) {
    end = after_space(at_ + 3);
  } else if (has(at_, "}}")) {
    end = at_ + 2;
  }
  if (end == std::string::npos) return false;
  add(end_kind, at_);
  move_to(end);
  return true;
}

void Lexer::read_inside(TokenKind end_kind) {
  const std::size_t start = at_;
  while (at_ < source_.size()) {
    if (read_end(end_kind)) return;
    const std::size_t space = leading_space(std::string_view(source_).substr(at_));
    at_ += space;
    if (space == 0) read_token();
  }
  if (!open_.empty())
    fail(source_.size(), fmt::format("the template ends where '{}' should follow", open_.back()));
  fail(start, fmt::format("this tag does not end\nhint: close it with {}",
                          end_kind == TokenKind::BlockEnd ? "%}" : "}}"));
}

void Lexer::read_token() {
  const char c = source_[at_];
  if (c >= '0' && c <= '9' && read_number()) return;
  if (c == '"' || c == '\'') return read_string();
  const auto first = code_point_at(source_.data() + at_);
  if (!is_identifier_start(first.value)) return read_operator();
  const std::size_t begin = at_;
  at_ += first.length;
  while (at_ < source_.size()) {
    const auto next = code_point_at(source_.data() + at_);
    if (!is_identifier_part(next.value)) break;
    at_ += next.length;
  }
  add(TokenKind::Name, begin, source_.substr(begin, at_ - begin));
}

bool Lexer::read_number() {
  const std::size_t begin = at_;
  const bool after_dot = begin > 0 && source_[begin - 1] == '.';
  const NumberText number = scan_number(std::string_view(source_).substr(begin), !after_dot);
  at_ += number.length;
  if (number.whole) {
    if (!number.integer) fail(begin, "this integer does not fit 64 bits");
    add(TokenKind::Integer, begin).integer = *number.integer;
  } else {
    add(TokenKind::Float, begin).real = number.real;
  }
  return true;
}

void Lexer::read_string() {
  const std::size_t begin = at_;
  const char quote = source_[at_++];
  while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
  if (at_ >= source_.size()) fail(begin, "this string does not end");
  const std::string_view inside = std::string_view(source_).substr(begin + 1, at_ - begin - 1);
  ++at_;
  std::string problem;
  auto text = unescaped(inside, problem);
  if (!text) fail(begin, problem);
  add(TokenKind::String, begin, *std::move(text));
}

void Lexer::balance(char c) {
  if (c == '(' || c == '[' || c == '{') open_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
  if (c != ')' && c != ']' && c != '}') return;
  if (open_.empty()) fail(at_, fmt::format("'{}' closes nothing", c));
  if (open_.back() != c) fail(at_, fmt::format("'{}' stands where '{}' should", c, open_.back()));
  open_.pop_back();
}

void Lexer::read_operator() {
  constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                             "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                             ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
  for (std::string_view op : kOperators) {
    if (!has(at_, op)) continue;
    balance(op.front());
    add(TokenKind::Operator, at_, std::string(op));
    at_ += op.size();
    return;
  }
  const auto c = code_point_at(source_.data() + at_);
  fail(at_, fmt::format("the character {} means nothing here", source_.substr(at_, c.length)));
}

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 >= source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

std::vector<Token> lex(Guard& guard, std::string_view source) {
  if (source.size() > guard.limits().template_bytes) {
    guard.fail("the template has {} bytes, more than {}\nhint: raise Limits::template_bytes",
               with_commas(static_cast<std::int64_t>(source.size())),
               with_commas(static_cast<std::int64_t>(guard.limits().template_bytes)));
  }
  return Lexer(guard, with_plain_newlines(bora::utf8_lossy(source))).run();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::Data:
      return "text";
    case TokenKind::PrintBegin:
      return "{{";
    case TokenKind::PrintEnd:
      return "}}";
    case TokenKind::BlockBegin:
      return "{%";
    case TokenKind::BlockEnd:
      return "%}";
    case TokenKind::Integer:
      return std::to_string(token.integer);
    case TokenKind::Float:
      return "a number";
    case TokenKind::String:
      return "a string";
    case TokenKind::End:
      return "the end of the template";
    default:
      return token.text;
  }
}

}  // namespace bora::jinja
