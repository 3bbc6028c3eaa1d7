// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/user_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/checkpoint/gguf_header.h"

namespace bora::cli {
namespace {

std::string front_of(const std::string& path, std::size_t bytes) {
  const auto file = files().open(path);
  std::string text(std::min<std::size_t>(bytes, file->size()), '\0');
  text.resize(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

bool has_ending(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](auto ending) { return name.ends_with(ending); });
}

// Files that say something of the folder in which they are.
struct Part {
  std::string_view name, of;
};
constexpr std::array<Part, 14> kParts = {{
    {"manifest.json", "a checkpoint"},
    {"state.json", "a checkpoint"},
    {"ledger.json", "a token cache"},
    {"run.json", "a run"},
    {"status.json", "a run"},
    {"summary.json", "a run"},
    {"hyperparameters.json", "a run"},
    {"metrics.jsonl", "a run"},
    {"timing.jsonl", "a run"},
    {"text.jsonl", "a run"},
    {"config.json", "a model"},
    {"generation_config.json", "a model"},
    {"model.safetensors.index.json", "a model"},
    {"adapter_config.json", "adapters"},
}};

[[noreturn]] void refuse_part(const std::string& path, std::string_view of) {
  const auto folder = parent_path(path);
  fail(ErrorKind::Corruption, "{} is a part of {}, no tensor file\nhint: bora inspect {}", path, of,
       shell_word(folder.empty() ? "." : folder));
}

[[noreturn]] void refuse_as(const std::string& path, std::string_view what, const std::string& hint) {
  fail(ErrorKind::Corruption, "{} is {}, no tensor file\nhint: {}", path, what, hint);
}

}  // namespace

void require_free_file(std::string_view command, std::string_view flag, const std::string& path, bool force,
                       std::string_view mark) {
  const auto there = files().info(path);
  if (force || !there || there->is_device) return;
  if (there->is_directory)
    fail(ErrorKind::Usage, "{}: {} {} is a folder, not a file\nhint: name a file in it", command, flag, path);
  constexpr std::size_t kFront = 400;
  if (!mark.empty() && front_of(path, kFront).find(mark) != std::string::npos) return;
  fail(ErrorKind::Usage, "{}: {}{}{} exists\nhint: another name, or --force to write over it", command, flag,
       flag.empty() ? "" : " ", path);
}

void require_tensor_file(const std::string& path, bool takes_tokenizer) {
  const auto name = base_name(path);
  for (const auto& part : kParts)
    if (name == part.name) refuse_part(path, part.of);
  if (has_ending(name, {".yaml", ".yml"}))
    refuse_as(path, "a configuration",
              fmt::format("bora train {0} --dry_run shows what it means, bora config diff {0} OTHER how it "
                          "differs from another",
                          shell_word(path)));
  if (has_ending(name, {".safetensors"}) || (takes_tokenizer && has_ending(name, {".json"}))) return;
  if (checkpoint::is_gguf(path))
    refuse_as(path, "a GGUF file", fmt::format("bora import {} runs/NAME makes a checkpoint of it", path));
  // The size of a header of JSON, then that.
  constexpr std::size_t kSize = 8;
  const auto front = front_of(path, kSize + 1);
  if (front.size() > kSize && front[kSize] == '{') return;
  refuse_as(
      path, "something else",
      "give a checkpoint (step-N), an export, or a .safetensors file; bora data stats CONFIG shows texts");
}

}  // namespace bora::cli
