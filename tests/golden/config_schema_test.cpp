// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The schema that editors read says what the program says.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "bora/base/config_node.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

// What of JSON Schema is used, as a validator reads it.
bool is_valid(const Json& value, const Json& schema);

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

bool has_any_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types);
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); });
}

bool are_keys_valid(const Json& object, const Json& schema) {
  for (const auto& [key, value] : object.items()) {
    if (schema.contains("propertyNames") && !is_valid(key, schema["propertyNames"])) return false;
    const auto properties = schema.value("properties", Json::object());
    if (properties.contains(key) && !is_valid(value, properties[key])) return false;
    if (properties.contains(key) || !schema.contains("additionalProperties")) continue;
    const auto& others = schema["additionalProperties"];
    if (others.is_boolean() ? !others.get<bool>() : !is_valid(value, others)) return false;
  }
  const auto required = schema.value("required", Json::array());
  return std::all_of(required.begin(), required.end(),
                     [&](const Json& key) { return object.contains(key.get<std::string>()); });
}

bool is_number_valid(const Json& value, const Json& schema) {
  const auto number = value.get<double>();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  return number >= schema.value("minimum", -kNone) && number <= schema.value("maximum", kNone) &&
         number > schema.value("exclusiveMinimum", -kNone) &&
         number < schema.value("exclusiveMaximum", kNone);
}

// The schema that is tested: what its references are looked up in.
Json& whole_schema() {
  static Json schema;
  return schema;
}

bool is_valid(const Json& value, const Json& schema) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (schema.contains("$ref")) {
    const auto name = schema["$ref"].get<std::string>();
    EXPECT_TRUE(name.starts_with("#/$defs/")) << name;
    EXPECT_EQ(schema.size(), 1U) << "what stands beside a reference is easily missed";
    return is_valid(value, whole_schema()["$defs"].at(name.substr(8)));
  }
  static const std::set<std::string> known = {"type",         "enum",        "const",
                                              "anyOf",        "allOf",       "if",
                                              "then",         "properties",  "pattern",
                                              "minimum",      "required",    "additionalProperties",
                                              "items",        "description", "maximum",
                                              "title",        "$schema",     "exclusiveMinimum",
                                              "$defs",        "x-default",   "exclusiveMaximum",
                                              "propertyNames"};
  for (const auto& [word, what] : schema.items()) EXPECT_TRUE(known.contains(word)) << word;
  const auto is_of = [&](const Json& one) { return is_valid(value, one); };
  if (schema.contains("type") && !has_any_type(value, schema["type"])) return false;
  if (schema.contains("const") && value != schema["const"]) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return false;
  if (schema.contains("anyOf") && std::none_of(schema["anyOf"].begin(), schema["anyOf"].end(), is_of))
    return false;
  if (schema.contains("allOf") && !std::all_of(schema["allOf"].begin(), schema["allOf"].end(), is_of))
    return false;
  if (schema.contains("if") && is_of(schema["if"]) && !is_of(schema["then"])) return false;
  if (value.is_number() && !is_number_valid(value, schema)) return false;
  if (value.is_string() && schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
    return false;
  if (value.is_array() && schema.contains("items") &&
      !std::all_of(value.begin(), value.end(),
                   [&](const Json& item) { return is_valid(item, schema["items"]); }))
    return false;
  return !value.is_object() || are_keys_valid(value, schema);
}

// As readers of YAML take it: 1e-3 is text to them.
Json json_of(const ConfigTree::Node& node) {
  using Kind = ConfigTree::Node::Kind;
  if (node.kind == Kind::Null) return nullptr;
  if (node.kind == Kind::Scalar) {
    if (!node.is_string && (node.text == "true" || node.text == "false")) return node.text == "true";
    const bool is_number =
        !node.is_string && node.text.find_first_not_of("0123456789.-") == std::string::npos;
    if (is_number && parse_int(node.text)) return *parse_int(node.text);
    if (is_number && parse_double(node.text)) return *parse_double(node.text);
    return node.text;
  }
  Json out = node.kind == Kind::List ? Json::array() : Json::object();
  for (const auto& child : node.children) {
    if (node.kind == Kind::List)
      out.push_back(json_of(child));
    else
      out[child.key] = json_of(child);
  }
  return out;
}
Json json_of(const std::string& yaml) {
  ConfigTree tree;
  tree.merge_text(yaml, "it");
  return json_of(tree.root());
}

Json schema_of_program() {
  const auto done = run(small_project("config_schema_values"), {"config", "schema"});
  EXPECT_EQ(done.code, 0) << done.output;
  whole_schema() = Json::parse(done.output);
  return whole_schema();
}

TEST(ConfigSchema, RefusesWhatTheProgramRefuses) {
  const auto schema = schema_of_program();
  for (const char* wrong : {"trainer: {train_batch_size: 0}",
                            "trainer: {train_batch_size: many}",
                            "trainer: {mp: fp8}",
                            "trainer: {mp: f16}",
                            "trainer: {device: gpu}",
                            "trainer: {lanes: 3}",
                            "trainer: {peak_flops: much}",
                            "trainer: {seed: -1}",
                            "trainer: {seedd: 1}",
                            "trainer: {profiler: 3}",
                            "model: {type: gpt9}",
                            "model: {gradient_checkpointing: often}",
                            "model: {type: gpt2, rope: {}}",
                            "data: {shuffle: perhaps}",
                            "data: {shuffle: 0}",
                            "data: {shuffle: 1.5}",
                            "optimizer: {lr_schedule: cos}",
                            "optimizer: {type: adamm}",
                            "hf_save_dtype: f64",
                            "trainer: {checkpointer: {save_interval: soon}}",
                            "trainer: {checkpointer: {save_interval: 15 m}}",
                            "trainer: {checkpointer: {save_interval: 15min}}",
                            "trainer: {checkpointer: {save_interval: -1}}",
                            "trainer: {checkpointer: {save_interval: true}}",
                            "data: {max_download: 2GBx}",
                            "data: {max_download: 2 gb}",
                            "data: {max_download: -1}",
                            "data: {max_download: 1.5}",
                            "data: {max_download: 1.5B}",
                            "data: {max_download: [1]}",
                            "data: {configs: {one: {format: {type: textt}}}}",
                            "trainer: {tracker: [{type: jsonn}]}",
                            "trainer: {checkpointer: {keep: all}}"})
    EXPECT_FALSE(is_valid(json_of(wrong), schema)) << wrong;
}

TEST(ConfigSchema, TakesWhatTheProgramTakes) {
  const auto schema = schema_of_program();
  for (const char* right : {"trainer: {train_batch_size: 8}",
                            "trainer: {train_batch_size: -1, per_device_parallelism: 4}",
                            "trainer: {train_batch_size: [{start: 0, value: 4}, {start: 9, value: 8}]}",
                            "trainer: {mp: 'p=f32,c=bfloat16'}",
                            "trainer: {mp: bf16}",
                            "trainer: {mp: 'compute=bf16, params=f32'}",
                            "trainer: {device: 'cuda:3'}",
                            "trainer: {device: cpu}",
                            "trainer: {lanes: 16}",
                            "trainer: {lanes: null}",
                            "trainer: {peak_flops: 1000000000000}",
                            "trainer: {peak_flops: 1e12}",
                            "trainer: {peak_flops: auto}",
                            "trainer: {profiler: true}",
                            "trainer: {profiler: {num_steps: 3}}",
                            "model: {gradient_checkpointing: true}",
                            "model: {gradient_checkpointing: full}",
                            "model: {gradient_checkpointing: 4}",
                            "data: {shuffle: true}",
                            "data: {shuffle: 4096}",
                            "data: {shuffle: {type: era, era_length: 8}}",
                            "data: {shuffle: {io_block_size: 8}}",
                            "optimizer: {lr_schedule: cosine}",
                            "optimizer: {lr_schedule: {type: cosine}}",
                            "optimizer: {clip_update_norm: true}",
                            "optimizer: {learning_rate: 1e-3}",
                            "hf_save_dtype: bfloat16",
                            "trainer: {checkpointer: {save_interval: 10m}}",
                            "trainer: {checkpointer: {save_interval: 1.5h}}",
                            "trainer: {checkpointer: {save_interval: 0}}",
                            "trainer: {checkpointer: {save_interval: 90.5}}",
                            "trainer: {checkpointer: {save_interval: '1e3s'}}",
                            "trainer: {checkpointer: {save_interval: null}}",
                            "data: {max_download: 2GB}",
                            "data: {max_download: '1.5 GiB'}",
                            "data: {max_download: 1000}",
                            "data: {max_download: 1e9}",
                            "data: {configs: {one: {format: {type: chat}}}}",
                            "trainer: {tracker: [{type: json_logger}]}",
                            "data: {id: me/words, tokenizer: gpt2}",
                            "trainer: {checkpointer: {keep: [{every: 10}]}}",
                            "dataset_type: chat_jsonl\nmessages_field: talk\nmax_seq_len: 64",
                            "max_train_length: 64"})
    EXPECT_TRUE(is_valid(json_of(right), schema)) << right;
}

// A word for word the same schema of some length stands there once.
TEST(ConfigSchema, ListsNothingTwice) {
  const auto schema = schema_of_program();
  std::map<std::string, int> times;
  const std::function<void(const Json&)> look = [&](const Json& part) {
    if (part.is_object() && (part.contains("type") || part.contains("anyOf") || part.contains("enum"))) {
      const auto text = part.dump();
      if (text.size() >= 200) {
        EXPECT_EQ(++times[text], 1) << text.substr(0, 200);
      }
    }
    if (part.is_structured())
      for (const auto& child : part) look(child);
  };
  look(schema);
  EXPECT_GT(times.size(), 100U);
  // And every one that is defined is referred to.
  const auto text = schema.dump();
  EXPECT_FALSE(schema["$defs"].empty());
  for (const auto& [name, what] : schema["$defs"].items()) {
    const auto reference = "\"#/$defs/" + name + "\"";
    const auto first = text.find(reference);
    EXPECT_NE(first, std::string::npos) << name;
    EXPECT_NE(text.find(reference, first + 1), std::string::npos) << name << " is referred to once";
  }
}

// The program and its schema agree on texts of both.
TEST(ConfigSchema, TakesMeasuresAsTheProgramDoes) {
  const auto schema = schema_of_program();
  const auto folder = small_project("config_schema_measures");
  for (const char* key : {"trainer.checkpointer.save_interval", "data.max_download"}) {
    for (const char* value : {"1.5h", "1e3", "1.5 GB", "10 m", "1_000", "-0", "0.1B"}) {
      const auto yaml = std::string(key).find("data") == 0
                            ? fmt::format("data: {{max_download: '{}'}}", value)
                            : fmt::format("trainer: {{checkpointer: {{save_interval: '{}'}}}}", value);
      const auto done =
          run(folder, {"train", "config.yaml", "--print_config", fmt::format("--{}={}", key, value)});
      EXPECT_EQ(is_valid(json_of(yaml), schema), done.code == 0) << key << ": " << value << "\n"
                                                                 << done.output;
    }
  }
}

TEST(ConfigSchema, TakesRecipesAndLevantersFiles) {
  const auto schema = schema_of_program();
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(BORA_SOURCE_DIR "/recipes")) {
    if (file.path().extension() != ".yaml") continue;
    ConfigTree tree;
    tree.merge_file(file.path().string());
    EXPECT_TRUE(is_valid(json_of(tree.root()), schema)) << file.path();
    ++files;
  }
  EXPECT_GT(files, 20);
  const std::filesystem::path theirs = BORA_SHARED_DIR "/data/levanter-config";
  if (!std::filesystem::exists(theirs)) return;
  for (const auto& file : std::filesystem::directory_iterator(theirs)) {
    // An optimizer that is not built, with which the program refuses a file, too.
    const auto name = file.path().stem();
    if (file.path().extension() != ".yaml" || name == "gpt2_small_fast_muon" || name == "gpt2_small_sophiah")
      continue;
    ConfigTree tree;
    tree.merge_file(file.path().string());
    EXPECT_TRUE(is_valid(json_of(tree.root()), schema)) << file.path();
  }
}

}  // namespace
}  // namespace bora::golden
