// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/config_schema.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/text.h"
#include "bora/base/value_patterns.h"
#include "bora/cli/describe.h"
#include "bora/cli/key_trials.h"

namespace bora::cli {
namespace {

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

// Of a number of seconds or bytes, or one with a unit.
Json measure_schema(const char* number_type, const std::string& range, const char* pattern) {
  Json number = {{"type", number_type}};
  add_range(number, range);
  return {{"anyOf", Json::array({number, {{"type", "string"}, {"pattern", pattern}}})}};
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
  if (type.starts_with("duration")) return measure_schema("number", type, kDurationPattern);
  if (type.starts_with("size")) return measure_schema("integer", "size, at least 0", kBytesPattern);
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

// Of a key that is no block.
Json scalar_schema(const DescribedKey& key) {
  const KeyTrials trials(key);
  if (trials.is_power_of_two()) {
    Json powers = Json::array();
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    for (std::int64_t power = 1; power <= kMost; power *= 2) powers.push_back(power);
    return {{"enum", powers}};
  }
  const auto words = key.type.starts_with("string") ? trials.words() : Json();
  return words.is_null() ? value_schema(key.type) : words;
}

// `usual`, or what else the program takes in its place.
Json with_other_spellings(Json usual, const DescribedKey& key) {
  auto all = KeyTrials(key).other_spellings();
  if (!usual.empty()) all.insert(all.begin(), std::move(usual));
  all.push_back({{"type", "null"}});
  return {{"anyOf", all}};
}

Json schema_of(const Branch& branch) {
  Json out;
  const bool is_used = branch.key != nullptr && !branch.key->doc.starts_with(kNotUsed);
  const bool has_others = is_used && KeyTrials(*branch.key).has_several_spellings();
  if (const auto items = branch.below.find("[]"); items != branch.below.end()) {
    const auto item = schema_of(items->second);
    out = {{"anyOf", Json::array({{{"type", Json::array({"array", "null"})}, {"items", item}}, item})}};
  } else if (!branch.below.empty()) {
    out = object_schema(branch);
    if (has_others) {
      const auto word = scalar_schema(branch.key->type);
      out = with_other_spellings(out, *branch.key);
      if (!word.empty()) out["anyOf"].push_back(word);
    }
  } else if (!is_used) {
    out = Json::object();
  } else if (has_others) {
    out = with_other_spellings(scalar_schema(*branch.key), *branch.key);
  } else {
    out = {{"anyOf", Json::array({scalar_schema(*branch.key), {{"type", "null"}}})}};
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

/// Gives what a schema lists several times a name in its $defs, and refers to that.
class Definitions {
 public:
  void gather(const Json& schema, const std::string& name) {
    if (is_worth(schema)) {
      auto& seen = seen_[schema.dump()];
      if (++seen.times > 1) return;  // what is below it stands there once
      seen.name = name;
    }
    each_child(schema, name, [&](const Json& child, const std::string& of) { gather(child, of); });
  }

  // In place of what has a name.
  Json replaced(const Json& schema, const std::string& within = "") {
    const auto text = is_worth(schema) ? schema.dump() : "";
    if (const auto at = seen_.find(text); text != within && at != seen_.end() && at->second.times > 1)
      return {{"$ref", "#/$defs/" + defined(at->second, schema, text)}};
    Json out = schema;
    if (schema.is_array())
      for (auto& item : out) item = replaced(item);
    if (schema.is_object())
      for (auto& [key, value] : out.items())
        if (value.is_structured()) value = replaced(value);
    return out;
  }

  Json take() { return std::move(definitions_); }

 private:
  struct Seen {
    int times = 0;
    std::string name;
    bool is_defined = false;
  };

  // Blocks of keys, and lists of names: what is shorter is read more easily where it stands.
  static bool is_worth(const Json& schema) {
    constexpr std::size_t kShortest = 200;
    return schema.is_object() &&
           (schema.contains("type") || schema.contains("anyOf") || schema.contains("enum")) &&
           schema.dump().size() >= kShortest;
  }

  template <class Body>
  static void each_child(const Json& schema, const std::string& name, const Body& body) {
    if (schema.is_array())
      for (const auto& item : schema) body(item, name);
    if (!schema.is_object()) return;
    for (const auto& [key, value] : schema.items()) {
      if (!value.is_structured()) continue;
      if (key == "properties")
        for (const auto& [property, of] : value.items()) body(of, property);
      else
        body(value, name);
    }
  }

  // Its name; made where it is needed first.
  std::string defined(Seen& seen, const Json& schema, const std::string& text) {
    if (seen.is_defined) return seen.name;
    const auto first = seen.name;
    for (int number = 2; definitions_.contains(seen.name); ++number)
      seen.name = first + "_" + std::to_string(number);
    seen.is_defined = true;
    definitions_[seen.name] = true;  // the name is taken
    definitions_[seen.name] = replaced(schema, text);
    return seen.name;
  }

  std::map<std::string, Seen> seen_;
  Json definitions_ = Json::object();
};

}  // namespace

Json config_schema() {
  const auto keys = described_keys();
  Branch root;
  TypedSection model, optimizer;
  for (const auto& key : keys) {
    const auto type = type_of_section(key.section);
    const auto path = path_of_section(key.section);
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
  for (const auto& key : top_keys())
    if (!properties.contains(key))
      properties[key] = {{"description", "read as Levanter's older files have it"}};
  properties["model"]["allOf"] = rules_of_types(model, "llama");
  properties["optimizer"]["allOf"] = rules_of_types(optimizer, "adam");
  Definitions definitions;
  definitions.gather(schema, "");
  schema = definitions.replaced(schema);
  schema["$defs"] = definitions.take();
  return schema;
}

}  // namespace bora::cli
