// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "bora/base/binder_state.h"
#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/data/formats.h"
#include "bora/run/lm_config.h"

namespace bora::cli {
namespace {

using Row = Binder::State::Row;
using Rows = std::vector<Row>;

Rows rows_of(BindTarget target, const std::string& prefix = "") {
  Binder::State state(Binder::Mode::Describe);
  state.out.emplace_back();
  state.out.back().node.kind = ConfigTree::Node::Kind::Map;
  Binder binder(state);
  target.bind(target.object, binder);
  for (auto& row : state.rows) row.key = prefix + row.key;
  return state.rows;
}

Rows only(const Rows& rows, const std::function<bool(const Row&)>& wanted) {
  Rows out;
  for (const auto& row : rows)
    if (wanted(row)) out.push_back(row);
  return out;
}

Rows below(const Rows& rows, const std::string& prefix) {
  return only(rows, [&](const Row& row) { return row.key.starts_with(prefix); });
}

bool has_key(const Rows& rows, const std::string& key) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.key == key; });
}

bool is_unused(const Row& row) { return row.doc.starts_with(kNotUsed); }

// Text in a cell of a Markdown table; `special`: what would have a meaning there.
std::string cell(const std::string& text, std::string_view special = "|<") {
  std::string out;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string code(const std::string& text) { return "`" + cell(text, "|") + "`"; }

// What stands in the column of defaults where the row has none.
std::string no_default(const Row& row) { return row.type == "section" ? "" : "none"; }

void print_table(const std::string& heading, const std::string& note, const Rows& rows) {
  fmt::print("\n{}\n", heading);
  if (!note.empty()) fmt::print("\n{}\n", note);
  fmt::print("\n| key | type | default | meaning |\n|---|---|---|---|\n");
  for (const auto& row : rows) {
    if (is_unused(row)) continue;
    fmt::print("| {} | {} | {} | {} |\n", code(row.key), cell(row.type),
               row.value.empty() ? no_default(row) : code(row.value), cell(row.doc));
  }
}

/// Every key of every table.
class Page {
 public:
  virtual ~Page() = default;
  virtual void add(const std::string& heading, const std::string& note, const Rows& rows) = 0;
};

class ListOfKeys final : public Page {
 public:
  void add(const std::string& heading, const std::string& /*note*/, const Rows& rows) override {
    const auto section = heading.substr(heading.find_first_not_of("# "));
    for (const auto& row : rows) keys.push_back({section, row.key, row.type, row.value, row.doc});
  }
  std::vector<DescribedKey> keys;
};

/// As Markdown: keys that are read and not used come last, in a table of their own.
class MarkdownPage final : public Page {
 public:
  void add(const std::string& heading, const std::string& note, const Rows& rows) override {
    print_table(heading, note, rows);
    for (const auto& row : rows)
      if (is_unused(row)) unused_.push_back(row);
  }
  void finish() {
    fmt::print(
        "\n## Keys that are read and not used\n\n"
        "Levanter knows them. Bora accepts them, so that a configuration file serves both, and "
        "every start names those that a file gives.\n\n| key | why |\n|---|---|\n");
    std::set<std::string> shown;
    for (const auto& row : unused_) {
      if (shown.insert(row.key).second) fmt::print("| {} | {} |\n", code(row.key), cell(row.doc.substr(10)));
    }
  }

 private:
  Rows unused_;
};

// With the sections that are absent by default, so that the defaults of their keys are seen.
run::LmConfig whole_config(const std::string& model) {
  run::LmConfig config;
  config.model.config = models::make_model_config(model);
  config.data.train_tokenizer.emplace();
  config.lora.emplace();
  config.data.spec_augment.emplace();
  config.trainer.wandb.emplace();
  config.optimizer->skip_bad_steps.emplace();
  return config;
}

// The keys of a format's block that every type has.
Rows common_format_rows(const std::string& prefix) {
  data::FormatChoice text;
  auto common = rows_of(text, prefix);
  for (const auto& type : data::format_types().names()) {
    data::FormatChoice choice(type);
    const auto rows = rows_of(choice, prefix);
    common = only(common, [&](const Row& row) { return has_key(rows, row.key); });
  }
  return common;
}

void add_formats(Page& page) {
  const auto common = common_format_rows("data.format.");
  for (const auto& type : data::format_types().names()) {
    data::FormatChoice choice(type);
    page.add(
        fmt::format("### data.format, type: {}", type),
        fmt::format("What a record is: {}. The same keys stand in `data.configs.<name>.format`.",
                    data::format_types().find(type)->help),
        only(rows_of(choice, "data.format."), [&](const Row& row) { return !has_key(common, row.key); }));
  }
}

void add_shuffles(Page& page) {
  data::DataConfig block;
  block.shuffle = {"block", data::BlockShuffle()};
  page.add("### data.shuffle as a map", "A map without `type` is one of type block.",
           only(rows_of(block, "data."), [](const Row& row) { return row.key == "data.shuffle.type"; }));
  for (const auto& type : data::shuffle_types().names()) {
    auto [help, config] = *data::shuffle_types().find(type);
    const auto rows = rows_of(config, "data.shuffle.");
    if (!rows.empty()) page.add(fmt::format("### data.shuffle, type: {}", type), help + ".", rows);
  }
}

void add_data(Page& page, const Rows& all) {
  page.add("## data", "What to train on.", only(below(all, "data."), [](const Row& row) {
             for (const char* prefix : {"data.format.", "data.configs.<name>.format."})
               if (row.key.starts_with(prefix)) return has_key(common_format_rows(prefix), row.key);
             return true;
           }));
  add_formats(page);
  add_shuffles(page);
}

void add_trainer(Page& page, const Rows& all) {
  constexpr std::string_view kTracker = "trainer.tracker[].", kType = "trainer.tracker[].type";
  page.add("## trainer", "The training run.", only(below(all, "trainer."), [&](const Row& row) {
             return row.key == kType || !row.key.starts_with(kTracker);
           }));
  train::ProfilerConfig profiler;
  page.add("### trainer.profiler as a map", "In place of `true` and the two keys beside it.",
           rows_of(profiler, "trainer.profiler."));
  for (const auto& type : track::tracker_types().names()) {
    const auto& found = *track::tracker_types().find(type);
    track::TrackerConfig tracker{type, found.config};
    page.add(fmt::format("### trainer.tracker, type: {}", type), found.help + ".",
             only(rows_of(tracker, std::string(kTracker)), [&](const Row& row) { return row.key != kType; }));
  }
}

// What is not in `others`, or has another default there.
Rows beside(const Rows& rows, const Rows& others) {
  return only(rows, [&](const Row& row) {
    return std::none_of(others.begin(), others.end(),
                        [&](const Row& o) { return o.key == row.key && o.value == row.value; });
  });
}

// With the sections that are absent by default.
void show_all(optim::AnyOptimizerConfig& config) {
  config->skip_bad_steps.emplace();
  if (auto* adam = config.get_if<optim::AdamConfig>()) adam->clip_update_norm.emplace();
}

void add_optimizer(Page& page) {
  optim::OptimizerChoice of_all{.config = optim::OptimizerConfig()};
  show_all(of_all.config);
  const auto common = rows_of(of_all, "optimizer.");
  page.add("## optimizer", "The optimizer, its learning rate and its weight decay.", common);
  for (const auto& type : optim::optimizer_types().names()) {
    const auto& found = *optim::optimizer_types().find(type);
    optim::OptimizerChoice choice{type, found.config};
    show_all(choice.config);
    page.add(fmt::format("### optimizer, type: {}", type), found.help + ".",
             only(beside(rows_of(choice, "optimizer."), common),
                  [](const Row& row) { return row.key != "optimizer.type"; }));
  }
  optim::DecayShape shape;
  page.add("### optimizer.lr_schedule as a map", "A shape with its numbers.",
           rows_of(shape, "optimizer.lr_schedule."));
}

void add_models(Page& page, const Rows& all) {
  const auto is_type = [](const Row& row) { return row.key == "model.type"; };
  page.add("## model", "The architecture and its sizes.", only(all, is_type));
  for (const auto& type : models::model_types().names()) {
    auto config = whole_config(type);
    page.add(fmt::format("### model, type: {}", type), models::model_types().find(type)->help + ".",
             only(below(rows_of(config), "model."), std::not_fn(is_type)));
  }
}

void add_everything(Page& page) {
  auto config = whole_config("llama");
  auto all = rows_of(config);
  page.add("## Top level", "", only(all, [](const Row& row) {
             return row.key.find('.') == std::string::npos || row.key.starts_with("sample.");
           }));
  page.add("## lora", "Low-rank adapters; a configuration without the section trains none.",
           below(all, "lora."));
  add_data(page, all);
  add_models(page, all);
  add_trainer(page, all);
  add_optimizer(page);
}

int describe_config_keys() {
  MarkdownPage page;
  add_everything(page);
  page.finish();
  return 0;
}

int describe_environment() {
  fmt::print("| variable | meaning |\n|---|---|\n");
  for (const auto& v : env::all()) fmt::print("| `{}` | {} |\n", v.name, v.meaning);
  return 0;
}

}  // namespace

std::vector<DescribedKey> described_keys() {
  ListOfKeys list;
  add_everything(list);
  return std::move(list.keys);
}

std::vector<std::string> top_keys() {
  ConfigTree tree;
  tree.override_value("dataset_type", "chat_jsonl");  // one of Levanter's older files
  Binder::State state(Binder::Mode::Read);
  state.frames.push_back({&tree.root(), ""});
  Binder binder(state);
  run::LmConfig config;
  config.bind(binder);
  return state.asked[&tree.root()];
}

int describe(const std::vector<std::string>& arguments) {
  auto what = arguments.empty() ? std::string() : arguments[0];
  if (what == "config") return describe_config_keys();
  if (what == "environment") return describe_environment();
  fail(ErrorKind::Usage, "--describe: \"{}\" is not one of config, environment", what);
}

}  // namespace bora::cli
