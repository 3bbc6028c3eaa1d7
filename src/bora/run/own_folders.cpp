// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/own_folders.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/store/format.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

// Any of these makes a folder a run's, or what is left of a start that failed.
constexpr std::array<std::string_view, 8> kOfRuns = {".lock",      "config.yaml",   "hyperparameters.json",
                                                     "log.txt",    "metrics.jsonl", "run.json",
                                                     "text.jsonl", "tokenizer"};

bool is_of_a_run(const std::string& name) {
  return std::find(kOfRuns.begin(), kOfRuns.end(), name) != kOfRuns.end() || name.find("step-") != name.npos;
}

std::vector<std::string> names_in(const std::string& directory) {
  const auto info = files().info(directory);
  return info && info->is_directory ? files().list(directory) : std::vector<std::string>();
}

bool is_same_folder(const std::string& a, const std::string& b) {
  const auto first = files().info(a), second = files().info(b);
  return first && second ? first->same_file(*second) : real_place(a) == real_place(b);
}

}  // namespace

std::string real_place(const std::string& path) {
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(path, error);
  if (error) return path;
  return place.has_filename() ? place : place.parent_path();
}

std::optional<ConfigProblem> moved_run(const LoadedConfig& loaded, const RunPlace& place) {
  const auto& file = loaded.first_file;
  if (base_name(file) != "config.yaml") return std::nullopt;
  const auto folder = parent_path(file);
  if (!exists(path_join(folder, "run.json")) || is_same_folder(folder, place.directory)) return std::nullopt;
  constexpr const char *kId = "trainer.id", *kBase = "trainer.checkpointer.base_path";
  const auto is_meant = [&](const char* key) { return loaded.tree.where(key).starts_with("--"); };
  // A made-up name is another one where other keys are given.
  const bool is_another = !loaded.config.trainer.id && loaded.command.find(" --") != std::string::npos;
  if (is_meant(kId) || is_meant(kBase) || is_another) return std::nullopt;
  return ConfigProblem{
      loaded.tree.where(kId), kId,
      fmt::format(
          "the run recorded in {} would begin anew in {}; to go on where it lies: --{}={} --{}={}; for a new "
          "run another --{}",
          file, place.directory, kBase, shell_word(parent_path(folder)), kId, shell_word(base_name(folder)),
          kId)};
}

std::vector<ConfigProblem> exports_among_steps(const LmConfig& config, const RunPlace& place) {
  std::vector<ConfigProblem> out;
  std::vector<std::pair<std::string, std::string>> places{{"this run's checkpoints", place.directory}};
  const auto look = [&](const std::string& key, const std::optional<std::string>& path,
                        const std::optional<std::string>& of_run) {
    if (!path || store::remote_scheme(*path)) return;
    const auto instead = key.substr(0, key.find('_'));
    for (const auto& [whose, other] : places) {
      if (!is_same_folder(*of_run, other)) continue;
      out.push_back(
          {"", key,
           fmt::format("{} is where {} go, as step-N like these; give another folder, such as {}-{}", *of_run,
                       whose, other, instead)});
      return;
    }
    if (exists(path_join(*path, "run.json")) || !checkpoint::committed_checkpoints(*path).empty())
      out.push_back(
          {"", key,
           fmt::format("{0} is a run, whose checkpoints are called step-N like these; give another folder, "
                       "such as {0}-{1}",
                       *path, instead)});
    places.emplace_back("the exports of " + key, *of_run);
  };
  look("hf_save_path", config.hf_save_path, place.exports);
  look("peft_save_path", config.peft_save_path, place.adapters);
  return out;
}

std::string why_no_run(const std::string& directory) {
  const auto names = names_in(directory);
  if (names.empty() || std::any_of(names.begin(), names.end(), is_of_a_run)) return "";
  return fmt::format("{} holds {}{} and is no run; name another folder (trainer.id)", directory,
                     names.front(), names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1));
}

std::string why_no_caches(const std::string& directory) {
  for (const auto& name : names_in(directory))
    if (name == "run.json" || store::is_data_file(name))
      return fmt::format("{} holds {} and no token caches; name a folder of its own", directory, name);
  return "";
}

}  // namespace bora::run
