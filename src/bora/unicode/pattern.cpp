// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/core.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/json_view.h"
#include "bora/unicode/oniguruma/fold.h"
#include "bora/unicode/oniguruma/look_behind.h"
#include "bora/unicode/oniguruma/parser.h"
#include "bora/unicode/oniguruma/writer.h"
#include "bora/unicode/unicode.h"

namespace bora {

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

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  explicit Compiled(pcre2_code* c) : code(c) {}
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

namespace {

/// Whether something lazy stands in what is matched in one way only.
bool misleads_compiler(const OnigNode& node, bool inside = false) {
  if (inside && node.kind == OnigNode::Kind::Repeat && !node.greedy) return true;
  if (node.kind == OnigNode::Kind::Repeat && node.parts[0].kind == OnigNode::Kind::Atomic) return true;
  inside = inside || node.kind == OnigNode::Kind::Atomic || node.kind == OnigNode::Kind::Look;
  return std::any_of(node.parts.begin(), node.parts.end(),
                     [&](const OnigNode& part) { return misleads_compiler(part, inside); });
}

}  // namespace

std::string pcre2_from_oniguruma(std::string_view source, std::string_view where) {
  const OnigRefusal refuse(where, source);
  OnigNode tree = OnigParser(source, refuse).parse();
  fold_literals(tree);
  refuse_early_looks(tree, refuse);
  fix_look_behinds(tree, refuse);
  // The code that PCRE2 10.42 compiles for (?>.+?)c misses matches, and for (?>.+|x){2} goes back into the first;
  // its interpreter does not.
  return (misleads_compiler(tree) ? "(*NO_JIT)" : "") + pcre2_text(tree);
}

Pattern Pattern::literal(std::string text) {
  Pattern p;
  p.source_ = std::move(text);
  return p;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Pattern Pattern::regex(std::string source, std::string_view where) {
  return compiled(source, pcre2_from_oniguruma(source, where), where);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Pattern Pattern::pcre2(std::string source) { return compiled(source, source, "pattern"); }

Pattern Pattern::compiled(std::string source, const std::string& translated, std::string_view where) {
  int error = 0;
  PCRE2_SIZE at = 0;
  // ^ and $ match at lines, which end in \n alone, whatever PCRE2 was built for.
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  constexpr auto kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_DOTALL | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                   kOptions, &error, &at, context.get());
  if (code == nullptr) {
    fail(ErrorKind::Unsupported,
         "{}: the regex {} cannot be used: {}\nhint: write it shorter, or in another way", where,
         json_string(source), message_of(error));
  }
  // A text here is known to be valid UTF-8, so matches skip that check.
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
  if (text.empty()) return parts;
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

}  // namespace bora
