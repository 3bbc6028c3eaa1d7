// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/unicode/letter_cases.h"

#include <utf8proc.h>

#include <string_view>
#include <vector>

#include "bora/unicode/newer_characters.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

CaseClass class_of_category(std::string_view category) {
  if (category[0] == 'M') return CaseClass::Mark;
  if (category[0] != 'L') return CaseClass::Other;
  if (category == "Lu" || category == "Lt") return CaseClass::Upper;
  return category == "Ll" ? CaseClass::Lower : CaseClass::Both;
}

CaseClass case_of(char32_t c, CharClass kind) {
  if (kind == CharClass::Space) return CaseClass::Space;
  if (kind == CharClass::Number) return CaseClass::Number;
  return class_of_category(utf8proc_category_string(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

const CaseClass* case_classes() {
  static const std::vector<CaseClass> table = [] {
    std::vector<CaseClass> t(kCodePoints);
    const CharClass* kinds = char_classes();
    for (char32_t c = 0; c < kCodePoints; ++c) t[c] = case_of(c, kinds[c]);
    each_newer_category([&](char32_t first, char32_t last, std::string_view category) {
      for (char32_t c = first; c <= last; ++c) {
        if (category[0] == 'L' || category[0] == 'M') t[c] = class_of_category(category);
      }
    });
    return t;
  }();
  return table.data();
}

}  // namespace bora
