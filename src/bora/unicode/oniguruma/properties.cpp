// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/oniguruma/properties.h"

#include <charconv>
#include <string>

namespace bora {

namespace {

CodePointSet set_of(std::string_view text) {
  CodePointSet set;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&] {
    std::uint32_t value = 0;
    at = std::from_chars(at, end, value, 16).ptr;
    return static_cast<char32_t>(value);
  };
  while (at < end) {
    const char32_t first = number();
    char32_t last = first;
    if (at < end && *at == '-') {
      ++at;
      last = number();
    }
    set.add(first, last);
    if (at < end) ++at;  // the space
  }
  return set;
}

bool has_name(std::string_view names, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

OnigClass class_of(const PropertyRow& row) {
  OnigClass newer = OnigClass::of(set_of(row.newer));
  if (row.pcre2.empty()) return newer;
  return OnigClass::any({OnigClass::of_property(row.pcre2), std::move(newer)});
}

std::optional<OnigClass> class_of_row(std::string_view name) {
  for (const PropertyRow& row : property_rows()) {
    if (has_name(row.names, name)) return class_of(row);
  }
  return std::nullopt;
}

OnigClass row(std::string_view name) { return *class_of_row(name); }

OnigClass assigned() {
  return OnigClass::any(
      {row("l"), row("m"), row("n"), row("p"), row("s"), row("z"), row("cc"), row("cf"), row("co")});
}

OnigClass nonspacing_mark() {  // all but one that has become a spacing mark
  return OnigClass::all(
      {OnigClass::any({OnigClass::of_property("Mn"),
                       OnigClass::of(set_of("897 ECE 10D69-10D6D 10EFC-10EFF 11241 113BB-113C0 "
                                            "113CE 113D0 113D2 113E1-113E2 11F00-11F01 "
                                            "11F36-11F3A 11F40 11F42 11F5A 13440 13447-13455 "
                                            "1611E-16129 1612D-1612F 1E08F 1E4EC-1E4EF "
                                            "1E5EE-1E5EF"))}),
       OnigClass::of(CodePointSet{{0x1171E, 0x1171E}}.complement())});
}

OnigClass graph() {
  return OnigClass::all({assigned(), OnigClass::negation(space()), OnigClass::negation(row("cc"))});
}

struct Compound {
  std::string_view names;
  OnigClass (*make)();
};

constexpr std::array<Compound, 13> kCompounds = {{
    {"alpha", [] { return row("alphabetic"); }},
    {"alnum", [] { return OnigClass::any({row("alphabetic"), digit()}); }},
    {"any", [] { return OnigClass::of({{0, kLastCodePoint}}); }},
    {"assigned", assigned},
    {"blank", [] { return OnigClass::any({row("zs"), OnigClass::of({{'\t', '\t'}})}); }},
    {"c other",
     [] {
       return OnigClass::negation(
           OnigClass::any({row("l"), row("m"), row("n"), row("p"), row("s"), row("z")}));
     }},
    {"cn unassigned", [] { return OnigClass::negation(assigned()); }},
    {"cntrl", [] { return row("cc"); }},
    {"graph", graph},
    {"mn nonspacingmark", nonspacing_mark},
    {"posixpunct", [] { return OnigClass::any({row("p"), row("s")}); }},
    {"print", [] { return OnigClass::any({graph(), row("zs")}); }},
    {"xdigit", hex_digit},
}};

}  // namespace

OnigClass word(bool in_bracket) {
  CodePointSet more;
  if (!in_bracket) more = {{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}};
  return OnigClass::any({row("alphabetic"), row("m"), row("nd"), row("pc"), OnigClass::of(std::move(more))});
}

OnigClass space() { return OnigClass::of(set_of("9-D 20 85 A0 1680 2000-200A 2028-2029 202F 205F 3000")); }

OnigClass digit() { return row("nd"); }

OnigClass hex_digit() { return OnigClass::of({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}); }

std::optional<OnigClass> property_class(std::string_view name, bool in_bracket) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  if (plain == "word") return word(in_bracket);
  if (plain == "space" || plain == "whitespace" || plain == "wspace") return space();
  if (plain == "digit") return digit();
  for (const Compound& compound : kCompounds) {
    if (has_name(compound.names, plain)) return compound.make();
  }
  return class_of_row(plain);
}

std::optional<OnigClass> posix_class(std::string_view name) {
  if (name == "punct") return property_class("posixpunct", true);
  if (name == "word") return word(true);
  for (const char* known : {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "space",
                            "upper", "xdigit", "ascii"}) {
    if (name == known) return property_class(name, true);
  }
  return std::nullopt;
}

}  // namespace bora
