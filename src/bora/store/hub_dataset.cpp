// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub_dataset.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "bora/base/config_yaml.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/store/format.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using config::Node;
using Names = std::vector<std::string>;
using Splits = std::map<std::string, Names>;

constexpr std::string_view kTrain = "train", kValidation = "validation", kTest = "test";

struct SplitWords {
  std::string_view split;
  std::array<std::string_view, 4> words;
};
constexpr std::array<SplitWords, 3> kWords = {{{kTrain, {"train", "training", "", ""}},
                                               {kValidation, {"validation", "valid", "dev", "val"}},
                                               {kTest, {"test", "testing", "eval", "evaluation"}}}};

/// Files of every such repository that are about the data and no data.
constexpr std::array<std::string_view, 4> kNoData = {"config.json", "dataset_info.json", "dataset_infos.json",
                                                     "dataset_dict.json"};

bool is_boundary(char c) { return c == '-' || c == '.' || c == '_' || c == ' ' || (c >= '0' && c <= '9'); }

/// Whether a word stands in a name between its ends and boundaries. A file's name goes on behind it.
bool has_word(std::string_view name, std::string_view word, bool is_folder) {
  for (auto at = name.find(word); !word.empty() && at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || is_boundary(name[at - 1]);
    const bool ends = end == name.size() ? is_folder : is_boundary(name[end]);
    if (begins && ends) return true;
  }
  return false;
}

bool names_split(const Names& parts, const SplitWords& words, bool in_folders) {
  const std::size_t first = in_folders ? 0 : parts.size() - 1,
                    last = in_folders ? parts.size() - 1 : parts.size();
  for (std::size_t i = first; i < last; ++i) {
    for (const auto word : words.words) {
      if (has_word(parts[i], word, in_folders)) return true;
    }
  }
  return false;
}

/// "train" of "data/train-00000-of-00002.parquet", or nothing.
std::string sharded_split(const Names& parts) {
  if (parts.size() != 2 || parts[0] != "data") return "";
  const std::string& name = parts[1];
  constexpr std::string_view kDigits = "[0-9][0-9][0-9][0-9][0-9]";
  const auto at = name.rfind("-of-");
  if (at == std::string::npos || at < 7) return "";
  const bool numbered = glob_match(fmt::format("-{}", kDigits), std::string_view(name).substr(at - 6, 6)) &&
                        glob_match(fmt::format("{}*.*", kDigits), std::string_view(name).substr(at + 4));
  return numbered ? name.substr(0, at - 6) : "";
}

/// The components of a path below `base`.
Names parts_below(const std::string& base, const std::string& path) {
  const auto parts = [](const std::string& text) {
    Names out = split(text, '/');
    std::erase_if(out, [](const std::string& part) { return part.empty() || part == "."; });
    return out;
  };
  Names out = parts(path);
  out.erase(out.begin(), out.begin() + std::ssize(parts(base)));
  return out;
}

/// Paths below `base`, in order, without what is hidden or about the data.
Names data_files(const DatasetFiles& tree, const std::string& base) {
  Names out;
  for (auto& path : tree.matches(path_join(base, "**"))) {
    const auto parts = parts_below(base, path);
    const bool special = std::any_of(parts.begin(), parts.end(),
                                     [](const std::string& part) { return part.starts_with("__"); });
    const bool about = std::find(kNoData.begin(), kNoData.end(), parts.back()) != kNoData.end();
    if (is_data_file(path) && !special && !about) out.push_back(std::move(path));
  }
  return out;
}

Splits splits_by_name(const DatasetFiles& tree, const std::string& base) {
  const Names all = data_files(tree, base);
  Splits sharded, by_folder, by_file;
  for (const auto& path : all) {
    const auto parts = parts_below(base, path);
    if (const auto name = sharded_split(parts); !name.empty()) sharded[name].push_back(path);
    for (const SplitWords& words : kWords) {
      if (names_split(parts, words, true)) by_folder[std::string(words.split)].push_back(path);
      if (names_split(parts, words, false)) by_file[std::string(words.split)].push_back(path);
    }
  }
  for (auto* found : {&sharded, &by_folder, &by_file}) {
    if (!found->empty()) return std::move(*found);
  }
  return all.empty() ? Splits{} : Splits{{std::string(kTrain), all}};
}

/// The lines of the README's YAML block that are the value of `configs`; empty if there is none.
std::string configs_block(const std::string& readme) {
  std::string out;
  bool inside = false, first = true;
  for (auto line : split(readme, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (first && line != "---") return "";
    if (!first && line == "---") return out;
    first = false;
    const bool is_key = !line.empty() && line.front() != ' ' && line.front() != '-' && line.front() != '#';
    if (is_key) inside = line.starts_with("configs:");
    if (inside) out += line + '\n';
  }
  return "";
}

[[noreturn]] void wrong(const std::string& readme, const Node& node, std::string_view what) {
  fail(ErrorKind::Corruption, "{}: configs: {} but is {}", readme, what, config::shown(node));
}

Names texts_of(const std::string& readme, const Node& node) {
  if (node.kind == Node::Kind::Scalar) return {node.text};
  Names out;
  if (node.kind != Node::Kind::List) wrong(readme, node, "a path should be a text or a list of them");
  for (const Node& item : node.children) {
    if (item.kind != Node::Kind::Scalar) wrong(readme, item, "a path should be a text");
    out.push_back(item.text);
  }
  return out;
}

Names files_of(const DatasetFiles& tree, const std::string& base, const Names& patterns) {
  Names out;
  for (const auto& pattern : patterns) {
    for (const auto& whole : expand_braces(path_join(base, pattern))) {
      for (auto& path : tree.matches(whole)) {
        if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(std::move(path));
      }
    }
  }
  return out;
}

Splits splits_of(const DatasetFiles& tree, const std::string& readme, const Node& chosen) {
  const Node* folder = config::child(chosen, "data_dir");
  const std::string base = folder != nullptr ? path_join(tree.root, folder->text) : tree.root;
  const Node* listed = config::child(chosen, "data_files");
  if (listed == nullptr || config::is_null(*listed)) return splits_by_name(tree, base);
  Splits out;
  const bool named = listed->kind == Node::Kind::List && !listed->children.empty() &&
                     listed->children.front().kind == Node::Kind::Map;
  if (!named) {
    out[std::string(kTrain)] = files_of(tree, base, texts_of(readme, *listed));
    return out;
  }
  for (const Node& entry : listed->children) {
    const Node *name = config::child(entry, "split"), *path = config::child(entry, "path");
    if (name == nullptr || path == nullptr) wrong(readme, entry, "data_files should be of split and path");
    out[name->text] = files_of(tree, base, texts_of(readme, *path));
  }
  return out;
}

const Node& choose(const DatasetFiles& tree, const std::string& readme, const std::string& wanted,
                   const Node& list) {
  if (list.kind != Node::Kind::List || list.children.empty()) wrong(readme, list, "it should be a list");
  const Node* chosen = nullptr;
  Names names;
  for (const Node& one : list.children) {
    const Node *name = config::child(one, "config_name"), *marked = config::child(one, "default");
    if (name == nullptr) wrong(readme, one, "each should have a config_name");
    names.push_back(name->text);
    if (!wanted.empty()) {
      if (name->text == wanted) return one;
      continue;
    }
    if (name->text == "default" || (marked != nullptr && config::to_bool(*marked) == true)) chosen = &one;
  }
  if (!wanted.empty())
    fail(ErrorKind::Config, "data files: {} has no configuration {}; there is {}{}", tree.root, wanted,
         join(names), did_you_mean(wanted, names));
  if (chosen == nullptr && names.size() == 1) chosen = &list.children.front();
  if (chosen != nullptr) return *chosen;
  fail(ErrorKind::Config,
       "data files: {} holds the configurations {} and says of none that it is the default\nhint: give the "
       "files of one, as {} lists them under configs",
       tree.root, join(names), readme);
}

bool is_repository(const std::string& directory) {
  const std::string readme = path_join(directory, "README.md"),
                    attributes = path_join(directory, ".gitattributes");
  if (exists(path_join(directory, "dataset_infos.json"))) return true;
  if (exists(readme) && read_text(readme).starts_with("---")) return true;
  return exists(attributes) && read_text(attributes).find("filter=lfs") != std::string::npos;
}

Splits splits_below(const DatasetFiles& tree, const std::string& wanted) {
  const std::string readme = path_join(tree.root, "README.md");
  const std::string block = configs_block(tree.readme);
  if (!block.empty()) {
    const Node root = config::parse_yaml(block, readme + ": configs", tree.root);
    if (const Node* list = config::child(root, "configs"))
      return splits_of(tree, readme, choose(tree, readme, wanted, *list));
  }
  // Without a list a configuration is a folder, as it is in data sets that were turned into Parquet files.
  if (wanted.empty() || wanted == "default") return splits_by_name(tree, tree.root);
  auto out = splits_by_name(tree, path_join(tree.root, wanted));
  if (out.empty())
    fail(ErrorKind::Config, "data files: {} lists no configurations, and has no folder {} with data",
         tree.root, wanted);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> hub_dataset_files(const std::string& directory, Split split) {
  if (!is_repository(directory)) return {};
  const std::string readme = path_join(directory, "README.md");
  return dataset_files({directory, exists(readme) ? read_text(readme) : "", glob_files}, split);
}

std::vector<std::string> dataset_files(const DatasetFiles& tree, Split split, const DatasetChoice& choice) {
  Splits splits = splits_below(tree, choice.configuration);
  std::erase_if(splits, [](const auto& entry) { return entry.second.empty(); });
  if (splits.empty()) return {};
  const bool train = split == Split::Train;
  if (const auto found = splits.find(choice.split); found != splits.end()) return found->second;
  if (choice.split.empty()) {
    for (const auto name : {train ? kTrain : kValidation, train ? kTrain : kTest}) {
      const auto found = splits.find(std::string(name));
      if (found != splits.end()) return found->second;
    }
    if (choice.may_lack && !train) return {};
  }
  Names names;
  for (const auto& [name, paths] : splits) names.push_back(name);
  fail(ErrorKind::Config, "data files: {} holds the split{} {}, but none called {}\nhint: {}", tree.root,
       names.size() == 1 ? "" : "s", join(names),
       !choice.split.empty() ? choice.split
       : train               ? "train"
                             : "validation or test",
       train || names.size() > 1
           ? fmt::format("give the files of one, for example {}", splits.begin()->second.front())
           : "data.num_validation_sequences holds some of the training data back");
}

}  // namespace bora::store
