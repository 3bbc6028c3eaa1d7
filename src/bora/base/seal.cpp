// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/seal.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/hash.h"

namespace bora {
namespace {

constexpr std::string_view kBegin = "\"hash\": \"", kEnd = "\"\n}\n";
constexpr std::size_t kDigits = 32;

}  // namespace

std::string sealed(std::string object, int indent) {
  object.resize(object.size() - 2);  // "\n}"
  const std::string hash = hash128(object).hex();
  return fmt::format("{},\n{:{}}{}{}{}", object, "", indent, kBegin, hash, kEnd);
}

Seal seal_of(std::string_view text) {
  const std::size_t at = text.rfind(",\n");
  if (at == std::string_view::npos) return Seal::None;
  std::string_view seal = text.substr(at + 2);
  seal.remove_prefix(std::min(seal.find_first_not_of(' '), seal.size()));
  if (!seal.starts_with(kBegin) || !seal.ends_with(kEnd) ||
      seal.size() != kBegin.size() + kDigits + kEnd.size())
    return Seal::None;
  return seal.substr(kBegin.size(), kDigits) == hash128(text.substr(0, at)).hex() ? Seal::Fits : Seal::Broken;
}

}  // namespace bora
