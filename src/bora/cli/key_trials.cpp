// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/key_trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bora/base/config.h"
#include "bora/base/text.h"
#include "bora/run/lm_config.h"

namespace bora::cli {
namespace {

// A value of each kind that YAML has.
struct Probe {
  std::string_view kind, yaml;
};
constexpr std::array<Probe, 5> kProbes = {
    {{"boolean", "true"}, {"number", "1"}, {"string", "some words"}, {"array", "[1]"}, {"object", "{a: 1}"}}};

// Of a value of the type that is described. (Text may be a number: 1e-3, 90s.)
bool is_of_type(const std::string& type, std::string_view kind) {
  const bool is_text = type.starts_with("string") || type.starts_with("duration") || type.starts_with("size");
  if (type.starts_with("list of")) return kind != "object";
  if (type.starts_with("map of") || type == "section") return kind == "object";
  if (kind == "boolean") return type.starts_with("true or false") || type.starts_with("string");
  if (kind == "number") return is_text || type.starts_with("integer") || type.starts_with("number");
  return kind == "string" && (is_text || type.starts_with("one of"));
}

bool is_of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=' ||
         c == ':' || c == '.' || c == '-';
}

// Words that a text says, and those that others have for the same.
std::vector<std::string> candidates(const std::string& text) {
  std::vector<std::string> out = {"auto",    "none", "full",     "cpu",  "cuda",    "cuda:1", "f32",
                                  "float32", "fp32", "bfloat16", "bf16", "float16", "fp16",   "f16"};
  for (std::size_t at = 0; at < text.size();) {
    auto end = at;
    while (end < text.size() && is_of_a_word(text[end])) ++end;
    auto word = text.substr(at, end - at);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.pop_back();
    if (word.size() > 1 && std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    at = end + 1;
  }
  for (const auto& dtype : std::vector<std::string>(out.begin(), out.begin() + 14))
    for (const char* part : {"p", "c", "o", "params", "compute", "output"})
      out.push_back(fmt::format("{}={}", part, dtype));
  return out;
}

// cuda:1 stands for cuda:2, too.
std::string as_pattern(const std::string& word) {
  std::string out;
  for (const char c : word) {
    if (std::string_view(".+*?()[]{}|^$\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  if (const auto colon = out.find(":1"); colon != out.npos) out.replace(colon, 2, ":[0-9]+");
  return out;
}

}  // namespace

std::string type_of_section(const std::string& section) {
  constexpr std::string_view kType = ", type: ";
  const auto at = section.find(kType);
  return at == section.npos ? "" : section.substr(at + kType.size());
}
std::string path_of_section(const std::string& section) { return section.substr(0, section.find(',')); }

KeyTrials::KeyTrials(const DescribedKey& key)
    : path_(key.key),
      type_of_section_(type_of_section(key.section)),
      section_(path_of_section(key.section)),
      key_(key) {
  for (auto at = path_.find("<name>"); at != path_.npos; at = path_.find("<name>")) path_.replace(at, 6, "x");
}

namespace {

template <class Refuses>
bool is_read(const std::string& section, const std::string& type, const std::string& path,
             std::string_view yaml, const Refuses& refuses) {
  ConfigTree tree;
  if (!type.empty()) tree.override_value(section + ".type", type);
  tree.override_value(path, yaml);
  run::LmConfig config;
  const auto problems = read_config(tree, config);
  return std::none_of(problems.begin(), problems.end(), [&](const ConfigProblem& p) {
    return (p.key == path || p.key.starts_with(path + " ")) && refuses(p.message);
  });
}

}  // namespace

bool KeyTrials::takes(std::string_view kind) const {
  const auto probe =
      std::find_if(kProbes.begin(), kProbes.end(), [&](const Probe& p) { return p.kind == kind; });
  return is_read(section_, type_of_section_, path_, probe->yaml, [](const std::string& message) {
    return message.starts_with("should be ") || message.starts_with("cannot be ") ||
           message.starts_with("not one of ") || message.starts_with("must be a ");
  });
}

bool KeyTrials::allows(std::string_view yaml) const {
  return is_read(section_, type_of_section_, path_, yaml, [](const std::string&) { return true; });
}

bool KeyTrials::has_several_spellings() const {
  if (key_.key.find("[]") != key_.key.npos || key_.key.ends_with(".type") || key_.doc.starts_with(kNotUsed))
    return false;
  return std::any_of(kProbes.begin(), kProbes.end(), [&](const Probe& probe) {
    return !is_of_type(key_.type, probe.kind) && takes(probe.kind);
  });
}

std::vector<Json> KeyTrials::other_spellings() const {
  std::vector<Json> out;
  for (const auto& [kind, yaml] : kProbes) {
    if (is_of_type(key_.type, kind) || !takes(kind)) continue;
    Json other = {{"type", std::string(kind)}};
    const bool is_positive = kind == "number" && !allows("0") && !allows("-1");
    if (is_positive) other["exclusiveMinimum"] = 0;
    if (kind == "number" && !allows("1.5")) other["type"] = "integer";
    if (const auto some = kind == "string" ? words() : Json(); !some.is_null()) other = some;
    out.push_back(std::move(other));
  }
  // One number more than the range has.
  const bool is_number = key_.type.starts_with("integer") || key_.type.starts_with("number");
  if (is_number && takes("array") && !allows("-2") &&
      is_read(section_, type_of_section_, path_, "-1",
              [](const std::string& message) { return message.starts_with("must be "); }))
    out.push_back({{"const", -1}});
  return out;
}

std::vector<std::string> KeyTrials::words_taken() const {
  if (key_.key.find("[]") != key_.key.npos || key_.doc.starts_with(kNotUsed)) return {};
  for (const char* any : {"some words", "zzqx", "zz/qx", "zz-qx_1.x", "2024-01-01", "/zz"})
    if (allows(any)) return {};
  std::vector<std::string> words;
  for (const auto& word : candidates(key_.doc + " " + key_.value))
    if (word.find_first_not_of("0123456789.") != word.npos && allows(word)) words.push_back(word);
  return words;
}

Json KeyTrials::words() const {
  const auto words = words_taken();
  if (words.empty()) return nullptr;
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : "|") + as_pattern(word);
  auto out = text_of(words, all);
  if (allows("true")) out.push_back({{"type", "boolean"}});
  if (allows("4")) {
    out.push_back({{"type", "number"}, {"exclusiveMinimum", 0}});
    out.push_back({{"type", "string"}, {"pattern", "^[0-9_.]+([eE][-+]?[0-9]+)?$"}});
  }
  return {{"anyOf", out}};
}

Json KeyTrials::text_of(const std::vector<std::string>& words, const std::string& all) const {
  // Two words may say the same, which a list refuses.
  const auto together = [&](const std::string& other) {
    return allows(fmt::format("\"{},{}\"", words[0], other));
  };
  const bool is_list = words.size() > 1 && (together(words[1]) || together(words.back()));
  const bool has_numbers = all.find("[0-9]+") != all.npos;
  const auto pattern = is_list ? fmt::format("^({0})(, *({0}))*$", all) : fmt::format("^({})$", all);
  if (is_list || has_numbers) return Json::array({{{"type", "string"}, {"pattern", pattern}}});
  return Json::array({{{"enum", words}}});
}

bool KeyTrials::is_power_of_two() const {
  if (!key_.type.starts_with("integer") || key_.doc.find("power of two") == std::string::npos) return false;
  const auto refused = {"3", "5", "6", "7", "12"}, taken = {"1", "2", "4", "8"};
  return std::none_of(refused.begin(), refused.end(), [&](const char* n) { return allows(n); }) &&
         std::all_of(taken.begin(), taken.end(), [&](const char* n) { return allows(n); });
}

}  // namespace bora::cli
