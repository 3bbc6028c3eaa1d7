// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/config_changes.h"
#include "bora/base/config_node.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/foreign_keys.h"
#include "bora/base/locale_text.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/config_schema.h"
#include "bora/cli/describe.h"
#include "bora/run/lm_config.h"

namespace bora::cli {
namespace {

bool is_number(const std::string& part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "trainer.tracker.0.logdir" -> trainer, tracker[], logdir: as keys are described.
std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> out;
  for (auto& part : split(key, '.')) {
    if (is_number(part) && !out.empty())
      out.back() += "[]";
    else
      out.push_back(std::move(part));
  }
  return out;
}

bool same_key(const std::string& described, const std::vector<std::string>& asked) {
  const auto parts = split(described, '.');
  if (parts.size() != asked.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != asked[i] && parts[i] != "<name>") return false;
  return true;
}

// "data.configs.<name>.cache_dir" is below "data.configs" and "data.configs.news".
bool is_below(const std::string& described, const std::string& asked) {
  const auto parts = split(described, '.'), above = split(asked, '.');
  if (parts.size() <= above.size()) return false;
  return std::equal(above.begin(), above.end(), parts.begin(),
                    [](const auto& name, const auto& part) { return name == part || part == "<name>"; });
}

// Behind a heading; so many that a line would not be read.
std::string in_lines(const std::vector<std::string>& keys) {
  constexpr std::size_t kWidth = 100;
  std::string out;
  std::size_t width = kWidth;
  for (const auto& key : keys) {
    if (width + key.size() > kWidth) {
      out += "\n    ";
      width = 0;
    }
    out += width == 0 ? key : " " + key;
    width += key.size() + 1;
  }
  return out;
}

/// What the program says of a key, and for which types of its section; none: whatever the type.
struct Meaning {
  const DescribedKey* key;
  std::vector<std::string> types;
};

void show(const Meaning& meaning, const std::string& asked) {
  const auto& key = *meaning.key;
  print_shown("{}{}\n", asked, meaning.types.empty() ? "" : fmt::format("  (type {})", join(meaning.types)));
  if (key.doc.starts_with(kNotUsed)) {
    print_shown("  has no effect: {}\n", key.doc.substr(std::string_view(kNotUsed).size()));
    return;
  }
  print_shown("  {}\n  type     {}\n", key.doc, key.type);
  if (key.type != "section") print_shown("  default  {}\n", key.value.empty() ? "none" : key.value);
}

// The same key of many types is shown once for all those that say the same of it.
std::vector<Meaning> meanings(const std::vector<DescribedKey>& keys, const std::string& asked) {
  constexpr std::string_view kType = ", type: ";
  const auto parts = parts_of(asked);
  std::vector<Meaning> found;
  for (const auto& key : keys) {
    if (!same_key(key.key, parts)) continue;
    auto told = std::find_if(found.begin(), found.end(), [&](const Meaning& other) {
      return other.key->doc == key.doc && other.key->type == key.type && other.key->value == key.value;
    });
    if (told == found.end()) told = found.insert(found.end(), {&key, {}});
    if (const auto at = key.section.find(kType); at != key.section.npos)
      told->types.push_back(key.section.substr(at + kType.size()));
  }
  return found;
}

// A block says less than a key in it: of "optimizer.learnin" one below optimizer, where one is near.
std::string nearest_below(const std::string& asked, const std::vector<std::string>& all) {
  const auto dot = asked.rfind('.');
  if (dot == asked.npos) return did_you_mean(asked, all);
  std::vector<std::string> names;
  for (const auto& key : all)
    if (key.starts_with(asked.substr(0, dot + 1)) && key.find('.', dot + 1) == key.npos)
      names.push_back(key.substr(dot + 1));
  if (const auto near = nearest(asked.substr(dot + 1), names))
    return fmt::format("; did you mean `{}{}`?", asked.substr(0, dot + 1), *near);
  if (names.empty()) return "";
  return fmt::format("; bora config explain {} lists the keys there", asked.substr(0, dot));
}

int explain(const std::string& asked) {
  if (asked.empty())
    fail(ErrorKind::Usage,
         "config explain: \"\" is no key\nhint: bora config explain trainer.train_batch_size");
  const auto keys = described_keys();
  const auto found = meanings(keys, asked);
  for (const auto& meaning : found) show(meaning, asked);
  std::vector<std::string> below, alike, all;
  for (const auto& key : keys) {
    if (std::find(all.begin(), all.end(), key.key) != all.end()) continue;
    all.push_back(key.key);
    if (is_below(key.key, asked)) below.push_back(key.key);
    if (key.key.ends_with("." + asked)) alike.push_back(key.key);
  }
  if (!below.empty()) print_shown("{}keys in it:{}\n", found.empty() ? "" : "  ", in_lines(below));
  if (!found.empty() || !below.empty()) return 0;
  if (!alike.empty())
    fail(ErrorKind::Usage, "config explain: {} is no whole key\nhint: {}", asked, join(alike, " or "));
  if (const auto* meant = foreign_key(asked.substr(asked.rfind('.') + 1)))
    fail(ErrorKind::Usage,
         "config explain: there is no key {}; did you mean `{}`?\nhint: bora config explain {}", asked,
         meant->key, meant->key);
  fail(ErrorKind::Usage, "config explain: there is no key {}{}\nhint: docs/reference/config.md lists all",
       asked, nearest_below(asked, all));
}

// A file, or the record of a run.
run::LoadedConfig config_of(const std::string& path, run::WrongConfig wrong = run::WrongConfig::Refused) {
  const auto record = path_join(path, "config.yaml");
  return run::load_config({exists(record) ? record : path}, {}, wrong);
}

int diff(const std::string& a, const std::string& b) {
  run::LmConfig before = config_of(a).config, after = config_of(b).config;
  const auto changes = config_changes(before, after);
  for (const auto& change : changes) fmt::print("{}\n", shown(change));
  return changes.empty() ? 0 : 1;
}

bool concerns(const ConfigProblem& problem, std::string_view key) { return problem.key.starts_with(key); }

// What differs from the defaults of the same types, so that the file stays as short as it can be. What cannot be written
// is told where it would stand, and the rest is written all the same.
int migrate(const std::string& path) {
  auto loaded = config_of(path, run::WrongConfig::Recorded);
  const auto lost = [&](const char* key) {
    return std::any_of(loaded.problems.begin(), loaded.problems.end(),
                       [&](const ConfigProblem& problem) { return concerns(problem, key); });
  };
  // Mistakes that the writer can mend are told instead.
  if (!lost("model.type") && !lost("optimizer.type")) loaded = config_of(path);
  auto& config = loaded.config;
  run::LmConfig plain;
  plain.model.config = models::make_model_config(config.model.config->type());
  plain.optimizer = {config.optimizer.type, optim::optimizer_types().find(config.optimizer.type)->config};
  ConfigTree standard, whole, out;
  standard.merge_text(write_config(plain), "defaults");
  whole.merge_text(write_config(config), path);
  for (const auto& change : config_changes(standard, whole)) {
    if (change.after != "none") {
      out.override_value(change.key, change.after);
      continue;
    }
    // A null, or a default that is of another type's keys, or that a block has taken the place of.
    const auto* now = config::find(whole.root(), change.key);
    if (now != nullptr && now->kind == ConfigTree::Node::Kind::Null) out.override_value(change.key, "null");
  }
  if (!lost("model.type")) out.override_value("model.type", config.model.config->type());
  const auto dropped = ignored_keys(loaded.tree, config);
  fmt::print("# Made by bora config migrate from {}: what differs from the defaults.\n", base_name(path));
  for (const auto& key : dropped)
    fmt::print("# {} ({}) has no effect: {}\n", key.key, key.where, key.message);
  for (const auto& problem : loaded.problems)
    fmt::print("# {} ({}) could not be written: {}\n", problem.key, problem.where, problem.message);
  fmt::print("{}", out.yaml());
  if (!loaded.problems.empty())
    log_warning("{} of the keys of {} could not be written; comments say which", loaded.problems.size(),
                path);
  return 0;
}

void require(const std::vector<std::string>& given, std::size_t number, const char* usage) {
  if (given.size() == number) return;
  fail(ErrorKind::Usage, "config: {} argument{} given\nhint: {}", given.size(), given.size() == 1 ? "" : "s",
       usage);
}

}  // namespace

int run_config(const Arguments& arguments) {
  std::string what;
  std::vector<std::string> given;
  Args args("config", "Explain, compare and rewrite configurations.",
            "  bora config explain trainer.train_batch_size\n"
            "  bora config diff a.yaml runs/brisk-otter-7      exit code 1 where they differ\n"
            "  bora config schema > bora.schema.json           for editors\n"
            "  bora config migrate levanter.yaml > my.yaml     the keys that count, as Bora writes them");
  args.positional("what", what, "explain, diff, schema or migrate")
      .words({"explain", "diff", "schema", "migrate"});
  args.positional("arguments", given, "a key; two files or runs; nothing; a file", false).is_path();
  args.parse(arguments);
  if (what == "explain") {
    require(given, 1, "bora config explain trainer.train_batch_size");
    return explain(given[0]);
  }
  if (what == "diff") {
    require(given, 2, "bora config diff a.yaml b.yaml");
    return diff(given[0], given[1]);
  }
  if (what == "schema") {
    require(given, 0, "bora config schema > bora.schema.json");
    fmt::print("{}\n", config_schema().dump(1));
    return 0;
  }
  if (what == "migrate") {
    require(given, 1, "bora config migrate levanter.yaml > my.yaml");
    return migrate(given[0]);
  }
  const std::vector<std::string> all = {"explain", "diff", "schema", "migrate"};
  fail(ErrorKind::Usage,
       "config: {} is not one of explain, diff, schema, migrate{}\nhint: bora config --help", what,
       did_you_mean(what, all));
}

}  // namespace bora::cli
