// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/core.h>
#include <pcre2.h>

#include <array>

#include "bora/base/error.h"
#include "bora/tokenize/json_view.h"
#include "bora/tokenize/newer_characters.h"
#include "bora/tokenize/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::uint32_t kMatchLimit = 50'000'000;     // a hostile regex ends in an error, not in hours
constexpr std::uint32_t kHeapLimitKiB = 1024 * 1024;  // of the interpreter, where there is no JIT
constexpr std::size_t kMaxJitStack = 64 << 20;

struct Match {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(64 << 10, kMaxJitStack, nullptr);
  Match() {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKiB);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Match() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;
};

Match& thread_match() {
  thread_local Match match;
  return match;
}

std::string message_of(int code) {
  std::array<unsigned char, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// The inside of a bracket for a class escape, or empty.
std::string class_of_escape(char c) {
  switch (c) {
    case 's':
      return R"(\t-\r \x{85}\p{Z})";
    case 'w': {
      static const std::string word =
          R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})" + newer_characters("w");
      return word;
    }
    case 'd': {
      static const std::string digit = R"(\p{Nd})" + newer_characters("Nd");
      return digit;
    }
    case 'h':
      return "0-9A-Fa-f";
    default:
      return {};
  }
}

/// What `inside` of a bracket leaves out, as the inside of another.
std::string complement(const std::string& inside) {
  static const std::string all = [] {
    std::string text;
    for (char32_t c = 0; c < kCodePoints; ++c) {
      if (c < 0xD800 || c >= 0xE000) append_utf8(text, c);
    }
    return text;
  }();
  std::string out;
  for (const PatternPart& part : Pattern::pcre2("[" + inside + "]+").parts(all)) {
    if (part.match) continue;
    const CodePoint first = code_point_at(all.data() + part.range.begin);
    const CodePoint last = code_point_at(all.data() + previous_start(all, part.range.end));
    out += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<std::uint32_t>(first.value),
                       static_cast<std::uint32_t>(last.value));
  }
  return out;
}

/// Characters that are `inside` a bracket, or that are not.
void append_class(std::string& out, const std::string& inside, bool negated, bool in_class) {
  if (in_class)
    out += negated ? complement(inside) : inside;
  else
    out += fmt::format("[{}{}]", negated ? "^" : "", inside);
}

/// PCRE2's name for what stands in \p{...}: scripts without extensions.
std::string property_name(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kScripts = {
      "Han",     "Hiragana", "Katakana", "Hangul", "Latin",    "Greek",     "Cyrillic",
      "Arabic",  "Hebrew",   "Thai",     "Common", "Bopomofo", "Georgian",  "Tamil",
      "Bengali", "Telugu",   "Armenian", "Khmer",  "Lao",      "Devanagari"};
  for (const auto script : kScripts) {
    if (name == script) return fmt::format("sc:{}", name);
  }
  return std::string(name);
}

/// \p{name}, or \P{name}.
void append_property(std::string& out, std::string_view name, bool negated, bool in_class) {
  const std::string newer = newer_characters(name);
  if (newer.empty())
    out += fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', property_name(name));
  else
    append_class(out, fmt::format("\\p{{{}}}{}", property_name(name), newer), negated, in_class);
}

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  explicit Compiled(pcre2_code* c) : code(c) {}
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

std::string pcre2_from_oniguruma(std::string_view source) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c != '\\' || i + 1 == source.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      out += c;
      continue;
    }
    const char e = source[++i];
    if (const auto same = class_of_escape(e); !same.empty()) {
      append_class(out, same, false, in_class);
    } else if (const auto other = class_of_escape(static_cast<char>(e | 0x20)); !other.empty()) {
      append_class(out, other, true, in_class);
    } else if ((e == 'p' || e == 'P') && i + 1 < source.size() && source[i + 1] == '{') {
      const std::size_t close = source.find('}', i);
      if (close == std::string_view::npos) return std::string(source);
      std::string_view name = source.substr(i + 2, close - i - 2);
      const bool caret = !name.empty() && name[0] == '^';
      if (caret) name.remove_prefix(1);
      append_property(out, name, (e == 'P') != caret, in_class);
      i = close;
    } else {
      out += c;
      out += e;
    }
  }
  return out;
}

Pattern Pattern::literal(std::string text) {
  Pattern p;
  p.source_ = std::move(text);
  return p;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Pattern Pattern::regex(std::string source, std::string_view where) {
  return compiled(source, pcre2_from_oniguruma(source), where);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Pattern Pattern::pcre2(std::string source) { return compiled(source, source, "pattern"); }

Pattern Pattern::compiled(std::string source, const std::string& translated, std::string_view where) {
  int error = 0;
  PCRE2_SIZE at = 0;
  // Ruby's ^ and $ match at lines; a text here is known to be valid UTF-8, so matches skip that check.
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code == nullptr) {
    fail(ErrorKind::Unsupported, "{}: the regex {} cannot be used: {}", where, json_string(source),
         message_of(error));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter does the same, slowly
  Pattern p;
  p.source_ = std::move(source);
  p.regex_ = true;
  p.compiled_ = std::make_shared<Compiled>(code);
  return p;
}

Pattern Pattern::read(const JsonView& json) {
  if (const auto text = json.find("String")) return literal(std::string(text->string()));
  if (const auto source = json.find("Regex")) return regex(std::string(source->string()), source->where());
  json.bad("should be {\"String\": ...} or {\"Regex\": ...}");
}

void Pattern::write(std::string& out) const {
  out += regex_ ? "{\"Regex\":" : "{\"String\":";
  append_json_string(out, source_);
  out += '}';
}

std::optional<ByteRange> Pattern::find(std::string_view text, std::size_t from) const {
  if (!regex_) {
    if (source_.empty()) return std::nullopt;
    const std::size_t at = text.find(source_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return ByteRange{at, at + source_.size()};
  }
  Match& match = thread_match();
  const int n = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                            PCRE2_NO_UTF_CHECK, match.data, match.context);
  if (n == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (n < 0) {
    fail(ErrorKind::Unsupported, "tokenizer: the regex {} gave up at byte {} of {}: {}", json_string(source_),
         from, text.size(), message_of(n));
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.data);
  return ByteRange{range[0], std::max(range[0], range[1])};
}

std::vector<PatternPart> Pattern::parts(std::string_view text) const {
  std::vector<PatternPart> parts;
  std::size_t done = 0;
  std::optional<std::size_t> last_end;
  for (std::size_t from = 0; from <= text.size();) {
    const auto match = find(text, from);
    if (!match) break;
    if (match->size() == 0 && last_end == match->end) {
      if (from >= text.size()) break;
      from += utf8_length(text[from]);
      continue;
    }
    if (done < match->begin) parts.push_back({{done, match->begin}, false});
    parts.push_back({*match, true});
    last_end = done = from = match->end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, false});
  return parts;
}

std::string Pattern::replace(std::string_view text, std::string_view by) const {
  std::string out;
  for (const PatternPart& part : parts(text)) {
    out += part.match ? by : text.substr(part.range.begin, part.range.size());
  }
  return out;
}

}  // namespace bora::tokenize
