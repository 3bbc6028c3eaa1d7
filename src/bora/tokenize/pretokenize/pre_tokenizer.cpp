// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/pretokenize/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bora/base/error.h"
#include "bora/unicode/scripts.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

constexpr std::array<std::string_view, 5> kBehaviors = {"Removed", "Isolated", "MergedWithPrevious",
                                                        "MergedWithNext", "Contiguous"};

SplitBehavior read_behavior(const JsonView& json) {
  const auto found = std::find(kBehaviors.begin(), kBehaviors.end(), json.string());
  if (found == kBehaviors.end()) {
    json.bad(
        fmt::format("is {}, not one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous",
                    json_string(json.string())));
  }
  return static_cast<SplitBehavior>(found - kBehaviors.begin());
}

std::string_view name_of(SplitBehavior behavior) { return kBehaviors[static_cast<std::size_t>(behavior)]; }

/// Replaces every piece by what `cut` makes of it: cut(piece text, its begin, pieces out).
template <class Cut>
void cut_pieces(PreText& text, Cut&& cut) {
  std::vector<ByteRange> pieces;
  for (const ByteRange& piece : text.pieces) {
    cut(std::string_view(text.text.text()).substr(piece.begin, piece.size()), piece.begin, pieces);
  }
  text.pieces = std::move(pieces);
}

/// Replaces every piece by a rewritten copy of it.
template <class Rewrite>
void rewrite_pieces(PreText& text, Rewrite&& rewrite) {
  AlignedText all = text.text.slice({0, 0});
  std::vector<ByteRange> pieces;
  for (const ByteRange& range : text.pieces) {
    AlignedText piece = text.text.slice(range);
    rewrite(piece);
    if (piece.empty()) continue;
    pieces.push_back({all.text().size(), all.text().size() + piece.text().size()});
    all.append(piece);
  }
  text = {std::move(all), std::move(pieces)};
}

/// Each character that fits is a match of its own.
template <class Fits>
std::vector<PatternPart> character_parts(std::string_view text, Fits&& fits) {
  std::vector<PatternPart> parts;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text.data() + i);
    const bool match = fits(c.value);
    if (!match && !parts.empty() && !parts.back().match) {
      parts.back().range.end += c.length;
    } else {
      parts.push_back({{i, i + c.length}, match});
    }
    i += c.length;
  }
  return parts;
}

template <class Fits>
void split_at_characters(PreText& text, SplitBehavior behavior, Fits&& fits) {
  cut_pieces(text, [&](std::string_view piece, std::size_t begin, std::vector<ByteRange>& out) {
    split_at(character_parts(piece, fits), behavior, begin, out);
  });
}

struct Split final : PreTokenizer {
  Pattern pattern;
  SplitBehavior behavior;
  bool invert;
  std::optional<ScanRule> rule;
  Split(Pattern p, SplitBehavior b, bool i) : pattern(std::move(p)), behavior(b), invert(i) {
    // Every character is matched by a scanner, so that "isolated" and "inverted, removed" are the same.
    const bool whole =
        (behavior == SplitBehavior::Isolated) || (behavior == SplitBehavior::Removed && invert);
    if (pattern.is_regex() && whole) rule = scan_rule_of(pattern.source());
  }
  std::optional<ScanRule> scan_rule() const override { return rule; }
  void apply(PreText& text, bool) const override {
    cut_pieces(text, [&](std::string_view piece, std::size_t begin, std::vector<ByteRange>& out) {
      if (rule) {
        const std::size_t first = out.size();
        scan(*rule, piece, out);
        for (std::size_t i = first; i < out.size(); ++i) out[i] = {out[i].begin + begin, out[i].end + begin};
        return;
      }
      auto parts = pattern.parts(piece);
      if (invert) {
        for (PatternPart& part : parts) part.match = !part.match;
      }
      split_at(parts, behavior, begin, out);
    });
  }
  void write(std::string& out) const override {
    out += R"({"type":"Split","pattern":)";
    pattern.write(out);
    out += fmt::format(R"(,"behavior":"{}","invert":{}}})", name_of(behavior), invert);
  }
};

struct ByteLevelPieces final : PreTokenizer {
  bool prefix_space, trim_offsets, use_regex;
  ByteLevelPieces(bool prefix, bool trim, bool regex)
      : prefix_space(prefix), trim_offsets(trim), use_regex(regex) {}
  bool ends_in_bytes() const override { return true; }
  bool rewrites() const override { return true; }
  std::optional<ScanRule> scan_rule() const override {
    return use_regex && !prefix_space ? std::optional(ScanRule{}) : std::nullopt;
  }
  void apply(PreText& text, bool map_bytes) const override {
    if (prefix_space) {
      rewrite_pieces(text, [](AlignedText& piece) {
        if (!piece.text().starts_with(' ')) piece.prepend(" ");
      });
    }
    if (use_regex) {
      cut_pieces(text, [](std::string_view piece, std::size_t begin, std::vector<ByteRange>& out) {
        scan_each(ScanRule{}, piece, [&](const char* p, const char* q) {
          out.push_back({begin + static_cast<std::size_t>(p - piece.data()),
                         begin + static_cast<std::size_t>(q - piece.data())});
        });
      });
    }
    if (map_bytes) rewrite_pieces(text, [](AlignedText& piece) { piece.bytes_to_alphabet(); });
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":{},"use_regex":{}}})",
                       prefix_space, trim_offsets, use_regex);
  }
};

struct MetaspaceSplit final : PreTokenizer {
  using Scheme = MetaspaceRule::Scheme;
  static constexpr std::array<std::string_view, 3> kSchemes = {"always", "first", "never"};
  MetaspaceRule rule;
  std::optional<MetaspaceRule> metaspace_rule() const override { return rule; }
  StartUse start_use() const override {
    return rule.scheme == Scheme::First ? StartUse::Yes : StartUse::None;
  }
  bool rewrites() const override { return true; }
  void apply(PreText& text, bool) const override {
    rewrite_pieces(text, [&](AlignedText& piece) {
      piece.replace(Pattern::literal(" "), rule.replacement);
      if (piece.text().starts_with(rule.replacement)) return;
      if (rule.scheme == Scheme::Always || (rule.scheme == Scheme::First && piece.at_start()))
        piece.prepend(rule.replacement);
    });
    if (!rule.split) return;
    const char32_t c = code_point_at(rule.replacement.data()).value;
    split_at_characters(text, SplitBehavior::MergedWithNext, [c](char32_t d) { return c == d; });
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Metaspace","replacement":{},"prepend_scheme":"{}","split":{}}})",
                       json_string(rule.replacement), kSchemes[static_cast<std::size_t>(rule.scheme)],
                       rule.split);
  }
};

std::unique_ptr<MetaspaceSplit> read_metaspace(const JsonView& json) {
  auto metaspace = std::make_unique<MetaspaceSplit>();
  MetaspaceRule& rule = metaspace->rule;
  rule.replacement = json.at("replacement").string();
  if (rule.replacement.empty() || utf8_length(rule.replacement[0]) != rule.replacement.size()) {
    json.at("replacement").bad("should be one character");
  }
  if (const auto scheme = json.find("prepend_scheme")) {
    const auto& names = MetaspaceSplit::kSchemes;
    const auto found = std::find(names.begin(), names.end(), scheme->string());
    if (found == names.end()) scheme->bad("should be \"always\", \"first\" or \"never\"");
    rule.scheme = static_cast<MetaspaceSplit::Scheme>(found - names.begin());
  }
  if (!json.boolean("add_prefix_space", true)) {  // files before prepend_scheme
    if (json.find("prepend_scheme") && rule.scheme != MetaspaceSplit::Scheme::Never) {
      json.bad("has add_prefix_space false, which contradicts its prepend_scheme");
    }
    rule.scheme = MetaspaceSplit::Scheme::Never;
  }
  rule.split = json.boolean("split", true);
  return metaspace;
}

struct Digits final : PreTokenizer {
  bool individual;
  explicit Digits(bool i) : individual(i) {}
  void apply(PreText& text, bool) const override {
    split_at_characters(text, individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous, is_numeric);
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Digits","individual_digits":{}}})", individual);
  }
};

struct Punctuation final : PreTokenizer {
  SplitBehavior behavior;
  explicit Punctuation(SplitBehavior b) : behavior(b) {}
  void apply(PreText& text, bool) const override { split_at_characters(text, behavior, is_punctuation); }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"Punctuation","behavior":"{}"}})", name_of(behavior));
  }
};

/// Whitespace (\w+|[^\w\s]+) and WhitespaceSplit.
struct Whitespace final : PreTokenizer {
  bool words;
  explicit Whitespace(bool w) : words(w) {}
  void apply(PreText& text, bool) const override {
    split_at_characters(text, SplitBehavior::Removed, is_white_space);
    if (words) split_at_characters(text, SplitBehavior::Contiguous, is_word);
  }
  void write(std::string& out) const override {
    out += words ? R"({"type":"Whitespace"})" : R"({"type":"WhitespaceSplit"})";
  }
};

struct Bert final : PreTokenizer {
  void apply(PreText& text, bool) const override {
    split_at_characters(text, SplitBehavior::Removed, is_white_space);
    split_at_characters(text, SplitBehavior::Isolated, is_punctuation);
  }
  void write(std::string& out) const override { out += R"({"type":"BertPreTokenizer"})"; }
};

struct Scripts final : PreTokenizer {
  void apply(PreText& text, bool) const override { cut_pieces(text, split_by_script); }
  void write(std::string& out) const override { out += R"({"type":"UnicodeScripts"})"; }
};

struct FixedLength final : PreTokenizer {
  std::int64_t length;  // characters
  explicit FixedLength(std::int64_t n) : length(n) {}
  void apply(PreText& text, bool) const override {
    cut_pieces(text, [&](std::string_view piece, std::size_t begin, std::vector<ByteRange>& out) {
      std::int64_t n = 0;
      for (std::size_t i = 0; i < piece.size(); i += utf8_length(piece[i])) {
        if (n++ % length == 0) out.push_back({begin + i, begin + i});
        out.back().end = begin + i + utf8_length(piece[i]);
      }
    });
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"FixedLength","length":{}}})", length);
  }
};

struct CharDelimiter final : PreTokenizer {
  std::string delimiter;
  explicit CharDelimiter(std::string d) : delimiter(std::move(d)) {}
  void apply(PreText& text, bool) const override {
    const char32_t c = code_point_at(delimiter.data()).value;
    split_at_characters(text, SplitBehavior::Removed, [c](char32_t d) { return c == d; });
  }
  void write(std::string& out) const override {
    out += fmt::format(R"({{"type":"CharDelimiterSplit","delimiter":{}}})", json_string(delimiter));
  }
};

struct SequenceOfPieces final : PreTokenizer {
  std::vector<std::unique_ptr<const PreTokenizer>> items;
  bool ends_in_bytes() const override { return !items.empty() && items.back()->ends_in_bytes(); }
  std::optional<ScanRule> scan_rule() const override {
    if (items.size() == 1) return items[0]->scan_rule();
    if (items.size() != 2) return std::nullopt;
    const auto* bytes = dynamic_cast<const ByteLevelPieces*>(items[1].get());
    const bool plain = bytes != nullptr && !bytes->prefix_space && !bytes->use_regex;
    return plain && dynamic_cast<const Split*>(items[0].get()) ? items[0]->scan_rule() : std::nullopt;
  }
  std::optional<MetaspaceRule> metaspace_rule() const override {
    if (items.size() == 1) return items[0]->metaspace_rule();
    const auto* split = items.size() == 2 ? dynamic_cast<const Whitespace*>(items[0].get()) : nullptr;
    if (split == nullptr || split->words) return std::nullopt;
    auto rule = items[1]->metaspace_rule();
    if (rule) rule->words = true;
    return rule;
  }
  StartUse start_use() const override {
    StartUse use = StartUse::None;
    bool rewritten = false;
    for (const auto& item : items) {
      const StartUse own = item->start_use();
      if (own != StartUse::None) use = std::max(use, rewritten ? StartUse::AfterRewriting : own);
      rewritten |= item->rewrites();
    }
    return use;
  }
  bool rewrites() const override {
    return std::any_of(items.begin(), items.end(), [](const auto& item) { return item->rewrites(); });
  }
  void apply(PreText& text, bool map_bytes) const override {
    for (const auto& item : items) item->apply(text, map_bytes || item != items.back());
  }
  void write(std::string& out) const override {
    out += R"({"type":"Sequence","pretokenizers":[)";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ',';
      items[i]->write(out);
    }
    out += "]}";
  }
};

}  // namespace

void split_at(const std::vector<PatternPart>& parts, SplitBehavior behavior, std::size_t shift,
              std::vector<ByteRange>& pieces) {
  const std::size_t first = pieces.size();
  const auto add = [&](const PatternPart& part) { pieces.push_back(part.range); };
  const auto extend = [&](const PatternPart& part) { pieces.back().end = part.range.end; };
  bool before = false, joined = false;  // whether the part before matched; whether the next one continues it
  for (const PatternPart& part : parts) {
    const bool some = pieces.size() > first;
    switch (behavior) {
      case SplitBehavior::Removed:
        if (!part.match) add(part);
        break;
      case SplitBehavior::Isolated:
        add(part);
        break;
      case SplitBehavior::Contiguous:
        part.match == before&& some ? extend(part) : add(part);
        break;
      case SplitBehavior::MergedWithPrevious:
        part.match && !before && some ? extend(part) : add(part);
        break;
      case SplitBehavior::MergedWithNext:
        joined ? extend(part) : add(part);
        joined = false;
        if (part.match) joined = &part + 1 < parts.data() + parts.size() && !(&part + 1)->match;
        break;
    }
    before = part.match;
  }
  std::size_t kept = first;
  for (std::size_t i = first; i < pieces.size(); ++i) {
    if (pieces[i].size() > 0) pieces[kept++] = {pieces[i].begin + shift, pieces[i].end + shift};
  }
  pieces.resize(kept);
}

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const JsonView& json) {
  const std::string type(json.at("type").string());
  if (type == "ByteLevel") {
    return std::make_unique<ByteLevelPieces>(json.boolean("add_prefix_space", true),
                                             json.boolean("trim_offsets", true),
                                             json.boolean("use_regex", true));
  }
  if (type == "Split") {
    return std::make_unique<Split>(Pattern::read(json.at("pattern")), read_behavior(json.at("behavior")),
                                   json.boolean("invert", false));
  }
  if (type == "Metaspace") return read_metaspace(json);
  if (type == "Digits") return std::make_unique<Digits>(json.boolean("individual_digits", false));
  if (type == "Punctuation") {
    const auto behavior = json.find("behavior");
    return std::make_unique<Punctuation>(behavior ? read_behavior(*behavior) : SplitBehavior::Isolated);
  }
  if (type == "Whitespace" || type == "WhitespaceSplit")
    return std::make_unique<Whitespace>(type == "Whitespace");
  if (type == "BertPreTokenizer") return std::make_unique<Bert>();
  if (type == "UnicodeScripts") return std::make_unique<Scripts>();
  if (type == "FixedLength") {
    const std::int64_t length = json.integer("length", 5);
    if (length < 1) json.at("length").bad(fmt::format("is {}; it should be 1 or more", length));
    return std::make_unique<FixedLength>(length);
  }
  if (type == "CharDelimiterSplit" || type == "Delimiter") {
    std::string delimiter(json.at("delimiter").string());
    if (delimiter.empty() || utf8_length(delimiter[0]) != delimiter.size()) {
      json.at("delimiter").bad("should be one character");
    }
    return std::make_unique<CharDelimiter>(std::move(delimiter));
  }
  if (type == "Sequence") {
    auto sequence = std::make_unique<SequenceOfPieces>();
    json.at("pretokenizers").each_item([&](const JsonView& j) {
      sequence->items.push_back(read_pre_tokenizer(j));
    });
    return sequence;
  }
  fail(ErrorKind::Unsupported, "{}: pre-tokenizer {} is not supported", json.where(), json_string(type));
}

std::unique_ptr<const PreTokenizer> gpt2_pre_tokenizer() {
  return std::make_unique<ByteLevelPieces>(false, true, true);
}

}  // namespace bora::tokenize
