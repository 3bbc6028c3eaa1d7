// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/run_files.h"

#include <algorithm>
#include <functional>
#include <set>

#include "bora/base/config_node.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/seal.h"
#include "bora/base/text.h"

namespace bora::report {
namespace {

using Texts = std::map<std::string, std::string>;

void flatten(const config::Node& node, const std::string& path, Texts& out) {
  if (node.kind != config::Node::Kind::Map || node.children.empty()) {
    out[path] = config::to_inline_yaml(node);
    return;
  }
  for (const auto& child : node.children)
    flatten(child, path.empty() ? child.key : path + "." + child.key, out);
}

void read_config(RunFiles& run, const std::string& file) {
  ConfigTree tree;
  tree.merge_file(file);
  if (!tree.empty()) flatten(tree.root(), "", run.config);
}

// A list of texts becomes one.
void flatten(const Json& json, const std::string& path, Texts& out) {
  if (json.is_string()) out[path] = json.get<std::string>();
  if (json.is_number() || json.is_boolean()) out[path] = json.dump();
  if (json.is_object())
    for (const auto& [key, value] : json.items()) flatten(value, path.empty() ? key : path + "." + key, out);
  if (!json.is_array()) return;
  std::vector<std::string> texts;
  for (const auto& element : json)
    if (element.is_string()) texts.push_back(element.get<std::string>());
  if (!texts.empty()) out[path] = join(texts);
}

void read_record(RunFiles& run, const std::string& file) {
  const auto text = read_text(file);
  if (seal_of(text) == Seal::Broken)
    fail(ErrorKind::Corruption, "{}: its own hash does not fit; the file is damaged", file);
  auto record = parse_json(text, file);
  if (!record.is_object())
    fail(ErrorKind::Corruption, "{}: is no record of a run; the file is damaged", file);
  if (const auto starts = record.find("starts"); starts != record.end() && starts->is_array())
    for (const auto& start : *starts) flatten(start, "", run.starts.emplace_back());
  record.erase("starts");
  record.erase("hash");
  flatten(record, "", run.record);
}

void read_texts(RunFiles& run, const std::string& file) {
  for (const auto& line : split(read_text(file), '\n')) {
    if (line.empty()) continue;
    const auto json = parse_json(line, file);
    run.texts[json_get<std::string>(json, "name", file)] = json_get<std::string>(json, "text", file);
  }
}

void read_curves_of(RunFiles& run, const std::string& file) { run.curves.merge(read_curves(file)); }

}  // namespace

RunFiles read_run(const std::string& run_directory) {
  RunFiles run{.summary = summarize(run_directory)};
  const auto read = [&](const char* name, const std::function<void(RunFiles&, const std::string&)>& reader) {
    const auto file = path_join(run_directory, name);
    try {
      if (exists(file)) reader(run, file);
    } catch (const Error& e) {
      run.problems.emplace_back(e.what());
    }
  };
  read("metrics.jsonl", read_curves_of);
  read("timing.jsonl", read_curves_of);
  read("config.yaml", read_config);
  read("run.json", read_record);
  read("text.jsonl", read_texts);
  return run;
}

std::map<std::string, std::vector<std::string>> differing_keys(const std::vector<RunFiles>& runs) {
  std::set<std::string> keys;
  for (const auto& run : runs)
    for (const auto& [key, value] : run.config) keys.insert(key);
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& key : keys) {
    std::vector<std::string> values;
    for (const auto& run : runs) values.push_back(run.config.contains(key) ? run.config.at(key) : "");
    const auto differs = [&](const std::string& value) { return value != values.front(); };
    if (std::any_of(values.begin(), values.end(), differs)) out[key] = std::move(values);
  }
  return out;
}

}  // namespace bora::report
