// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/disk_need.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/run/machine.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

std::uint64_t device_of(const std::string& path) {
  const auto info = files().info(existing_folder(path));
  return info ? info->device : 0;
}

class Needs {
 public:
  void add(const std::string& key, const std::string& path, const std::string& what, double bytes,
           double least, double checkpoints = 0) {
    if (bytes <= 0 || store::remote_scheme(path)) return;  // a folder elsewhere is a mistake of its own
    const auto free = free_bytes(path);
    if (!free) return;
    const auto device = device_of(path);
    auto at = std::find(devices_.begin(), devices_.end(), device);
    if (at == devices_.end()) {
      at = devices_.insert(at, device);
      needs_.push_back({.key = key, .path = path, .free = *free});
    }
    auto& need = needs_[static_cast<std::size_t>(at - devices_.begin())];
    need.bytes += bytes;
    need.least += least;
    need.checkpoints += checkpoints;
    need.parts += fmt::format("{}{}", need.parts.empty() ? "" : " · ", what);
  }
  std::vector<DiskNeed> take() { return std::move(needs_); }

 private:
  std::vector<std::uint64_t> devices_;
  std::vector<DiskNeed> needs_;
};

constexpr const char* kRuns = "trainer.checkpointer.base_path";

}  // namespace

std::string cache_key(const std::string& name, const data::SourceConfig& source) {
  return source.cache_dir ? "data.configs." + name + ".cache_dir" : "data.cache_dir";
}

std::int64_t checkpoints_kept(const std::vector<checkpoint::KeepConfig>& keep, std::int64_t steps,
                              std::int64_t after) {
  if (after >= steps) return 0;
  std::int64_t kept = 0, from = after, last = after;
  for (const auto& rule : keep) {
    const auto until = std::min(rule.until.value_or(steps), steps);
    if (until <= from) continue;
    kept += until / rule.every - from / rule.every;
    last = std::max(last, until / rule.every * rule.every);
    from = until;
  }
  return kept + (last == steps ? 0 : 1);
}

std::vector<DiskNeed> disk_needs(const LmConfig& config, const RunPlace& place,
                                 const std::vector<SourceFound>& sources, const SizeEstimate& sizes,
                                 std::int64_t goes_on_at) {
  const auto& t = config.trainer;
  Needs needs;
  for (const auto& source : sources) {
    if (source.cached) continue;
    const auto given = config.data.sources();
    const auto* of = data::find(given, source.name);
    const double tokens = source.text_bytes / 2;  // two or four bytes for each four or so of text
    needs.add(cache_key(source.name, *of), config.data.cache_directory(source.name, *of, "train"),
              fmt::format("tokens of {} {}", source.name, human_bytes(tokens)), tokens, tokens / 4);
  }
  const auto each = sizes.checkpoint_bytes;
  // One that is being written, and one that only lasts until the next.
  const auto number = checkpoints_kept(t.checkpointer.keep, t.num_train_steps, goes_on_at) +
                      (t.checkpointer.save_interval ? 1 : 0);
  const double of_checkpoints = each * static_cast<double>(number);
  needs.add(kRuns, place.directory, fmt::format("checkpoints {} × {}", number, human_bytes(each)),
            of_checkpoints, each, of_checkpoints);
  const double exported = static_cast<double>(sizes.parameters.all) * (config.hf_save_dtype == "f32" ? 4 : 2);
  if (config.hf_export)
    needs.add(kRuns, place.directory, fmt::format("export {}", human_bytes(exported)), exported, 0);
  if (place.exports) {
    const auto exports = (t.num_train_steps + config.hf_save_steps - 1) / config.hf_save_steps;
    needs.add("hf_save_path", *place.exports, fmt::format("exports {} × {}", exports, human_bytes(exported)),
              exported * static_cast<double>(exports), 0);
  }
  return needs.take();
}

}  // namespace bora::run
