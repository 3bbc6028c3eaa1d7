// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/config_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/text.h"
#include "bora/cli/describe.h"
#include "bora/run/lm_config.h"

namespace bora::cli {
namespace {

// A value of each kind that YAML has.
struct Probe {
  std::string_view kind, yaml;
};
constexpr std::array<Probe, 5> kProbes = {
    {{"boolean", "true"}, {"number", "1"}, {"string", "some words"}, {"array", "[1]"}, {"object", "{a: 1}"}}};

// "model, type: gpt2" -> gpt2; "" for what is of no one type.
std::string type_of(const std::string& section) {
  constexpr std::string_view kType = ", type: ";
  const auto at = section.find(kType);
  return at == section.npos ? "" : section.substr(at + kType.size());
}
std::string path_of(const std::string& section) { return section.substr(0, section.find(',')); }

// Whether the program takes a value of this kind, whatever it says of its contents.
bool takes(const DescribedKey& key, std::string path, const Probe& probe) {
  for (auto at = path.find("<name>"); at != path.npos; at = path.find("<name>")) path.replace(at, 6, "x");
  ConfigTree tree;
  if (const auto type = type_of(key.section); !type.empty())
    tree.override_value(path_of(key.section) + ".type", type);
  tree.override_value(path, probe.yaml);
  run::LmConfig config;
  const auto problems = read_config(tree, config);
  return std::none_of(problems.begin(), problems.end(), [&](const ConfigProblem& p) {
    const bool is_it = p.key == path || p.key.starts_with(path + " ");
    return is_it && (p.message.starts_with("should be ") || p.message.starts_with("cannot be ") ||
                     p.message.starts_with("not one of "));
  });
}

// Of a value of the type that is described. (Text may be a number: 1e-3, 90s.)
bool is_of_type(const std::string& type, std::string_view kind) {
  const bool is_text = type.starts_with("string") || type.starts_with("duration") || type.starts_with("size");
  if (type.starts_with("list of")) return kind != "object";
  if (type.starts_with("map of") || type == "section") return kind == "object";
  if (kind == "boolean") return type.starts_with("true or false") || type.starts_with("string");
  if (kind == "number") return is_text || type.starts_with("integer") || type.starts_with("number");
  return kind == "string" && (is_text || type.starts_with("one of"));
}

// Keys that can be written in other ways than their type says (true, false or a policy; a number or stages; a
// number or a map of names) are found by trying: the program itself says what it takes.
bool has_several_spellings(const DescribedKey& key) {
  if (key.key.find("[]") != key.key.npos || key.key.ends_with(".type") || key.doc.starts_with(kNotUsed))
    return false;
  return std::any_of(kProbes.begin(), kProbes.end(), [&](const Probe& probe) {
    return !is_of_type(key.type, probe.kind) && takes(key, key.key, probe);
  });
}

// ", from 1 to 9", ", at least 0 and below 1", ", above 0", ", -1 or from 1 to 9"
void add_range(Json& schema, const std::string& type) {
  const auto number_after = [&](std::string_view word) -> std::optional<double> {
    const auto at = type.find(word);
    if (at == type.npos) return std::nullopt;
    const auto begin = at + word.size();
    return parse_double(type.substr(begin, type.find_first_of(" ,", begin) - begin));
  };
  if (const auto from = number_after(" from "); from && type.find(" or from ") == type.npos)
    schema["minimum"] = *from;
  if (const auto to = number_after(" to ")) schema["maximum"] = *to;
  if (const auto least = number_after(" at least "); least && type.find(" or at least ") == type.npos)
    schema["minimum"] = *least;
  if (const auto above = number_after(" above ")) schema["exclusiveMinimum"] = *above;
  if (const auto below = number_after(" below ")) schema["exclusiveMaximum"] = *below;
  if (const auto most = number_after(" at most ")) schema["maximum"] = *most;
}

// Readers of YAML take 1e-3 and 1_000 for text.
Json number_schema(const std::string& type, bool whole) {
  Json number = {{"type", whole ? "integer" : "number"}};
  add_range(number, type);
  return {{"anyOf", Json::array({number,
                                 {{"type", "string"},
                                  {"pattern", "^[-+]?[0-9_.]+([eE][-+]?[0-9]+)?$|^[-+]?\\.inf$"}}})}};
}

Json scalar_schema(const std::string& type) {
  if (type.starts_with("true or false")) return {{"type", "boolean"}};
  if (type.starts_with("integer")) return number_schema(type, true);
  if (type.starts_with("number")) return number_schema(type, false);
  if (type.starts_with("one of ")) {
    Json words = Json::array();
    for (const auto& word : split(type.substr(7), ',')) words.push_back(trim(word));
    return {{"enum", words}};
  }
  if (type.starts_with("duration") || type.starts_with("size"))
    return {{"type", Json::array({"string", "number"})}};
  // A name or a text may look like a number or a truth value.
  if (type.starts_with("string")) return {{"type", Json::array({"string", "number", "boolean"})}};
  return Json::object();
}

Json items_schema(const std::string& many) {
  if (many.starts_with("integers")) return number_schema(many, true);
  if (many.starts_with("numbers")) return number_schema(many, false);
  if (many.starts_with("strings")) return scalar_schema("string");
  if (many.starts_with("booleans")) return scalar_schema("true or false");
  return Json::object();
}

Json value_schema(const std::string& type) {
  constexpr std::string_view kList = "list of ", kMap = "map of names to ";
  if (type.starts_with(kList)) {
    const auto item = items_schema(type.substr(kList.size()));
    return {{"anyOf", Json::array({{{"type", "array"}, {"items", item}}, item})}};
  }
  if (type.starts_with(kMap))
    return {{"type", "object"}, {"additionalProperties", items_schema(type.substr(kMap.size()))}};
  return scalar_schema(type);
}

/// Keys by their parts. "x[]" holds the items of a list, "<name>" the values of a map.
struct Branch {
  std::map<std::string, Branch> below;
  const DescribedKey* key = nullptr;

  Branch& at(const std::string& path) {
    Branch* here = this;
    for (const auto& part : split(path, '.')) {
      const bool list = part.ends_with("[]");
      here = &here->below[list ? part.substr(0, part.size() - 2) : part];
      if (list) here = &here->below["[]"];
    }
    return *here;
  }
};

void describe_in(Json& schema, const DescribedKey& key) {
  schema["description"] = key.doc;
  if (!key.value.empty()) schema["x-default"] = key.value;
}

Json schema_of(const Branch& branch);

Json object_schema(const Branch& branch) {
  Json out = {{"type", Json::array({"object", "null"})}, {"properties", Json::object()}};
  for (const auto& [name, child] : branch.below) {
    if (name == "<name>")
      out["additionalProperties"] = schema_of(child);
    else
      out["properties"][name] = schema_of(child);
  }
  if (!out.contains("additionalProperties")) out["additionalProperties"] = false;
  return out;
}

Json schema_of(const Branch& branch) {
  Json out;
  if (const auto items = branch.below.find("[]"); items != branch.below.end()) {
    const auto item = schema_of(items->second);
    out = {{"anyOf", Json::array({{{"type", Json::array({"array", "null"})}, {"items", item}}, item})}};
  } else if (!branch.below.empty()) {
    out = object_schema(branch);
    if (branch.key != nullptr && has_several_spellings(*branch.key))
      out["type"] = Json::array({"object", "array", "string", "number", "boolean", "null"});
  } else if (branch.key == nullptr || has_several_spellings(*branch.key) ||
             branch.key->doc.starts_with(kNotUsed)) {
    out = Json::object();
  } else {
    out = {{"anyOf", Json::array({value_schema(branch.key->type), {{"type", "null"}}})}};
  }
  if (branch.key != nullptr) describe_in(out, *branch.key);
  return out;
}

/// The keys that belong to one type of a section: the others are refused beside it.
struct TypedSection {
  std::set<std::string> common;
  std::map<std::string, std::set<std::string>> by_type;
};

// Without a type it is the default's, which the program takes then.
Json rules_of_types(const TypedSection& section, const std::string& standard) {
  std::set<std::string> known;
  for (const auto& [type, keys] : section.by_type) known.insert(keys.begin(), keys.end());
  Json rules = Json::array();
  for (const auto& [type, keys] : section.by_type) {
    std::set<std::string> names = keys;
    names.insert(section.common.begin(), section.common.end());
    names.insert("type");
    Json of_type = {{"properties", {{"type", {{"const", type}}}}}};
    if (type != standard) of_type["required"] = Json::array({"type"});
    rules.push_back({{"if", of_type}, {"then", {{"propertyNames", {{"enum", names}}}}}});
  }
  return rules;
}

// The first part of a key below `path`: "model.rope.theta" -> "rope".
std::string part_below(const std::string& key, const std::string& path) {
  const auto rest = key.substr(path.size() + 1);
  return rest.substr(0, rest.find_first_of(".["));
}

}  // namespace

Json config_schema() {
  const auto keys = described_keys();
  Branch root;
  TypedSection model, optimizer;
  for (const auto& key : keys) {
    const auto type = type_of(key.section);
    const auto path = path_of(key.section);
    auto& branch = root.at(key.key);
    if (branch.key == nullptr) branch.key = &key;
    if (path == "model" && !type.empty()) model.by_type[type].insert(part_below(key.key, "model"));
    if (path == "optimizer" && key.key.starts_with("optimizer."))
      (type.empty() ? optimizer.common : optimizer.by_type[type]).insert(part_below(key.key, "optimizer"));
    // What one type of format has stands in the data sets of a mixture too.
    constexpr std::string_view kFormat = "data.format.";
    if (path != "data.format" || !key.key.starts_with(kFormat)) continue;
    auto& of_set = root.at("data.configs.<name>.format." + key.key.substr(kFormat.size()));
    if (of_set.key == nullptr) of_set.key = &key;
  }
  Json schema = object_schema(root);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Configuration of bora train";
  auto& properties = schema["properties"];
  properties["model"]["allOf"] = rules_of_types(model, "llama");
  properties["optimizer"]["allOf"] = rules_of_types(optimizer, "adam");
  return schema;
}

}  // namespace bora::cli
