// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/module_names.h"

#include <fmt/core.h>

#include "bora/base/error.h"

namespace bora::run {
namespace {

constexpr std::string_view kWeight = ".weight";

std::optional<Pattern> whole_name(const std::string& source) {
  try {
    return Pattern::pcre2("\\A(?:" + source + ")\\z");
  } catch (const Error&) {  // its words are about the pattern as it is put here
    return std::nullopt;
  }
}

Pattern require_regex(const std::string& source, std::string_view where) {
  auto pattern = whole_name(source);
  if (!pattern) fail(ErrorKind::Config, "{}: {} is no regular expression", where, source);
  return *std::move(pattern);
}

}  // namespace

std::vector<NamedMap> named_maps(nn::LanguageModel& model) {
  std::vector<NamedMap> out;
  for (const auto& map : model.linear_maps()) {
    auto hf = model.hf_name(map.path + std::string(kWeight)).name;
    if (hf.ends_with(kWeight)) hf.resize(hf.size() - kWeight.size());
    out.push_back({map.path, hf, map.head, map.adapter});
  }
  return out;
}

NameRegex::NameRegex(const std::string& source, std::string_view where)
    : pattern_(require_regex(source, where)) {}

bool NameRegex::matches(const std::string& name) const { return pattern_.find(name, 0).has_value(); }

bool is_regex(const std::string& source) { return whole_name(source).has_value(); }

bool ends_name(std::string_view end, std::string_view name) {
  return name == end ||
         (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

}  // namespace bora::run
