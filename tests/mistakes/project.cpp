// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "project.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "bora/base/env.h"
#include "bora/base/text.h"
#include "bora/cli/main.h"
#include "bora/models/builtin.h"
#include "bora/optim/builtin.h"

namespace bora::mistakes {
namespace {

constexpr const char* kConfig = R"(data:
  configs:
    one: {train_urls: [one.txt]}
    two: {train_urls: [two.txt]}
  train_weights: {one: 0.7, two: 0.3}
  mixture_block_size: 16
  num_validation_sequences: {one: 4}
  train_tokenizer: {vocab_size: 300}
  cache_dir: cache
  permutation_type: feistel
model:
  type: gpt2
  seq_len: 32
  hidden_dim: 32
  num_heads: 4
  num_layers: 2
trainer:
  id: run
  train_batch_size: 4
  num_train_steps: 40
  steps_per_eval: 0
  threads: 1
  checkpointer: {base_path: runs, save_interval: null, keep: [{every: 1}]}
optimizer: {learning_rate: 3e-3, warmup: 5}
)";

std::string made_up_text(std::size_t words, std::size_t stride) {
  constexpr const char* kWords[] = {"the",    "moon", "is",    "a",     "compiler", "of",
                                    "dreams", "and",  "light", "falls", "on",       "water"};
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    text += kWords[(i * i * stride + i / 7) % 12];
    text += i % 11 == 10 ? ".\n" : " ";
  }
  return text;
}

void put(const std::string& path, std::string_view text) {
  files().make_directories(parent_path(path));
  const auto file = files().create(path);
  file->write(as_bytes(text));
  file->close();
}

void require(const Ended& done, int code) {
  if (done.code != code) throw std::runtime_error(done.output);
}

// What a start may leave, whatever it fails of: the next one uses what is whole of it.
bool is_progress(std::string_view path) {
  return path.starts_with("cache/") || path.starts_with("other_cache/") || path.ends_with("/.lock") ||
         path.find("/tokenizer/") != path.npos;
}

// Folders only where nothing is in them.
bool read_tree(const std::string& folder, std::map<std::string, std::string>& out) {
  bool is_empty = true;
  for (const auto& name : files().list(folder)) {
    const auto path = folder == "." ? name : path_join(folder, name);
    const auto info = files().info(path);
    const bool is_folder = info && info->is_directory;
    if (is_folder && read_tree(path, out))
      out[path + "/"] = "";
    else if (!is_folder && !path.ends_with("/.lock"))
      out[path] = info && !info->is_device ? read_text(path) : "(no file)";
    is_empty = is_empty && path.ends_with("/.lock");
  }
  return is_empty;
}

std::set<std::string> folders(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& name : files().list(folder)) {
    const auto path = folder == "." ? name : path_join(folder, name);
    const auto info = files().info(path);
    if (!info || !info->is_directory) continue;
    out.insert(path);
    out.merge(folders(path));
  }
  return out;
}

}  // namespace

Ended run(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = cli::run_command(words);
  auto output = testing::internal::GetCapturedStdout();
  output += testing::internal::GetCapturedStderr();
  return {code, std::move(output)};
}

Project::Project()
    : scope_(unsynced_),
      before_(std::filesystem::current_path().string()),
      folder_(path_join(testing::TempDir(), "bora_mistakes")) {
  env::prefer("HF_HUB_OFFLINE", "1");  // no test asks the network
  env::prefer("HF_HOME", "nothing");
  models::add_builtin_models();
  optim::add_builtin_optimizers();
  remove_all(folder_);
  files().make_directories(folder_);
  std::filesystem::current_path(folder_);
  put("config.yaml", kConfig);
  put("one.txt", made_up_text(6000, 5));
  put("two.txt", made_up_text(3000, 7));
  require(run({"train", "config.yaml", "--trainer.stop_at_step=2"}), 75);
  require(run({"export", "runs/run", "model"}), 0);
  whole_ = content();
  folders_ = folders(".");
}

Project::~Project() {
  std::filesystem::current_path(before_);
  remove_all(folder_);
}

std::map<std::string, std::string> Project::content() {
  std::map<std::string, std::string> out;
  read_tree(".", out);
  return out;
}

std::vector<std::string> Project::changed(const std::map<std::string, std::string>& before) {
  const auto now = content();
  std::vector<std::string> out;
  for (const auto& [path, text] : before)
    if (const auto there = now.find(path);
        !is_progress(path) && (there == now.end() || there->second != text))
      out.push_back(path);
  for (const auto& [path, text] : now)
    if (!before.contains(path) && !is_progress(path)) out.push_back(path);
  return out;
}

void Project::restore() {
  for (const auto& folder : folders(".")) {
    if (!folders_.contains(folder)) remove_all(folder);
  }
  for (const auto& [path, text] : content())
    if (!whole_.contains(path)) remove_all(path);
  for (const auto& [path, text] : whole_)
    if (!exists(path) || read_text(path) != text) put(path, text);
}

std::shared_ptr<FileLock> Project::give(const std::string& word) {
  const auto words = split(word, ' ');
  const auto argument = [&](std::size_t i) { return i < words.size() ? words[i] : ""; };
  const auto &what = words.at(0), path = argument(1);
  if (what == "cut") {  // in the middle
    const auto text = read_text(path);
    put(path, text.substr(0, text.size() / 2));
  } else if (what == "flip") {  // a bit in the middle
    auto text = read_text(path);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    put(path, text);
  } else if (what == "empty") {
    put(path, "");
  } else if (what == "without") {
    remove_all(path);
  } else if (what == "folder") {
    files().make_directories(path);
  } else if (what == "copy") {
    std::filesystem::copy(path, argument(2), std::filesystem::copy_options::recursive);
  } else if (what == "move") {
    files().rename(path, argument(2));
  } else if (what == "bytes") {  // in hexadecimal digits
    std::string text;
    for (std::size_t i = 0; i + 1 < argument(2).size(); i += 2)
      text += static_cast<char>(std::stoi(argument(2).substr(i, 2), nullptr, 16));
    put(path, text);
  } else if (what == "replace") {  // one word by another
    auto text = read_text(path);
    const auto at = text.find(argument(2));
    if (at == text.npos) throw std::runtime_error(path + " holds no " + argument(2));
    put(path, text.replace(at, argument(2).size(), argument(3)));
  } else if (what == "pipe") {
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + path);
  } else if (what == "busy") {  // as another process would hold it
    put(path_join(path, ".lock"), "process 4242 on elsewhere since 2026-01-01T00:00:00Z\n");
    return files().try_lock(path_join(path, ".lock"));
  } else {
    throw std::runtime_error("given: " + word + " is nothing that can be given");
  }
  return nullptr;
}

}  // namespace bora::mistakes
