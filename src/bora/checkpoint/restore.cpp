// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/host_view.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint64_t kWorthThreads = 16
                                        << 20;  // bytes; for less, starting threads takes longer than reading

constexpr std::string_view kModelStem = "model-", kOptimizerStem = "optimizer-";

// One chunk of one file: the unit of verification.
struct Chunk {
  const ReadFile* file;
  const FileRecord* record;
  std::size_t index;
};

// Opens all files and compares their sizes; reading comes later.
std::vector<std::unique_ptr<ReadFile>> open_files(const std::string& checkpoint, const Manifest& manifest) {
  std::vector<std::unique_ptr<ReadFile>> out;
  for (const FileRecord& record : manifest.files) {
    const std::string path = path_join(checkpoint, record.name);
    if (!exists(path)) fail(ErrorKind::Corruption, "{}: {} is missing", base_name(checkpoint), record.name);
    out.push_back(files().open(path));
    if (out.back()->size() != record.size) {
      fail(ErrorKind::Corruption, "{}: {}: has {} bytes, the manifest says {}; the file is {}",
           base_name(checkpoint), record.name, with_commas(static_cast<std::int64_t>(out.back()->size())),
           with_commas(static_cast<std::int64_t>(record.size)),
           out.back()->size() < record.size ? "truncated" : "damaged");
    }
  }
  return out;
}

std::string axes_and_sizes(std::string_view axes, const std::vector<std::int64_t>& sizes) {
  const auto names = axes.empty() ? std::vector<std::string>{} : split(axes, ',');
  std::string out = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out += fmt::format("{}{}{}", i ? ", " : "", i < names.size() ? names[i] + "=" : "", sizes[i]);
  }
  return out + "]";
}

std::string joined(const CheckpointArray& array) { return fmt::format("{}", fmt::join(array.names, ",")); }

bool same_set_in_another_order(const std::string& a, const std::string& b) {
  auto x = split(a, ','), y = split(b, ',');
  if (x == y) return false;
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  return x == y;
}

// All tensors of the files STEM-*.safetensors of a checkpoint.
class StoredArrays {
 public:
  StoredArrays(const std::string& checkpoint, const Manifest& manifest, std::string_view stem)
      : step_(base_name(checkpoint)) {
    for (const FileRecord& record : manifest.files) {
      if (record.name.starts_with(stem) && record.name.ends_with(".safetensors"))
        add(path_join(checkpoint, record.name));
    }
  }

  /// Finds the partner of every live array; an error if one does not fit, or if some have none on either
  /// side.
  void match(std::span<const CheckpointArray> live) {
    for (const CheckpointArray& array : live) {
      in_context(fmt::format("while restoring {} from {}", array.path, step_), [&] { match_one(array); });
    }
    if (entries_.size() > live.size()) fail_surplus(live);
  }

  void copy(std::span<const CheckpointArray> live) const {
    parallel_for(static_cast<std::int64_t>(live.size()), [&](std::int64_t i) {
      const CheckpointArray& array = live[static_cast<std::size_t>(i)];
      array.whole() ? copy_whole(array) : copy_block(array);
      const Entry& entry = entries_.at(array.path);
      entry.file->forget(*entry.tensor);
    });
  }

 private:
  struct Entry {
    const SafetensorsFile* file;
    const StoredTensor* tensor;
    std::string axes;
  };

  void copy_whole(const CheckpointArray& array) const {
    const Entry& entry = entries_.at(array.path);
    const core::HostView values(array.array, core::HostView::Use::write);
    if (stored_type(array.array.dtype()) == entry.tensor->type)
      entry.file->copy(*entry.tensor, values.bytes());
    else if (array.array.dtype() == core::DType::f32)
      entry.file->read_floats(*entry.tensor, values.floats());
    else
      from_floats(floats_of(entry), array.array.dtype(), values.bytes(), array.path);
  }

  void copy_block(const CheckpointArray& array) const {
    const Entry& entry = entries_.at(array.path);
    const auto bytes = entry.file->bytes(*entry.tensor);
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
    if (entry.tensor->type == StoredType::F32 && aligned) {
      const auto* whole = reinterpret_cast<const float*>(bytes.data());
      return array.take(whole);
    }
    array.take(floats_of(entry).data());
  }

  static std::vector<float> floats_of(const Entry& entry) {
    std::vector<float> out(static_cast<std::size_t>(entry.tensor->elements()));
    entry.file->read_floats(*entry.tensor, out);
    return out;
  }

  void add(const std::string& path) {
    files_.push_back(std::make_unique<SafetensorsFile>(path));
    const SafetensorsFile& file = *files_.back();
    std::map<std::string_view, std::string_view> axes;
    for (const auto& [key, value] : file.metadata()) {
      if (key.starts_with("axes:")) axes.emplace(std::string_view(key).substr(5), value);
    }
    for (const StoredTensor& tensor : file.tensors()) {
      entries_.emplace(tensor.name, Entry{&file, &tensor, std::string(axes[tensor.name])});
    }
  }

  void match_one(const CheckpointArray& array) const {
    const auto found = entries_.find(array.path);
    if (found == entries_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, entry] : entries_) names.push_back(name);
      fail(ErrorKind::InvalidArgument,
           "the checkpoint does not hold it{}\n"
           "hint: the configuration's model, optimizer or trainer.freeze differs from the one that was saved",
           did_you_mean(array.path, names));
    }
    const Entry& entry = found->second;
    const auto sizes = array.whole_sizes();
    if (entry.tensor->shape != sizes || same_set_in_another_order(entry.axes, joined(array))) {
      fail(ErrorKind::InvalidArgument,
           "the checkpoint has {}, the model has {}\nhint: the configuration's model differs from the one "
           "that was saved",
           axes_and_sizes(entry.axes, entry.tensor->shape), axes_and_sizes(joined(array), sizes));
    }
    const auto stored = core_type(entry.tensor->type);
    const auto live = array.array.dtype();
    const bool convertible =
        (live == core::DType::f32 || live == core::DType::bf16) && stored && core::is_floating(*stored);
    if (stored != live && !convertible) {
      fail(ErrorKind::InvalidArgument, "the checkpoint has {}, the model {}", name(entry.tensor->type),
           core::name(live));
    }
  }

  [[noreturn]] void fail_surplus(std::span<const CheckpointArray> live) const {
    std::map<std::string_view, bool> wanted;
    for (const CheckpointArray& array : live) wanted[array.path] = true;
    std::string first;
    for (const auto& [name, entry] : entries_) {
      if (first.empty() && !wanted.contains(name)) first = name;
    }
    fail(ErrorKind::InvalidArgument,
         "while restoring from {}: the checkpoint holds {} arrays more than the run, e.g. {}\n"
         "hint: the configuration's model, optimizer or trainer.freeze differs from the one that was saved",
         step_, entries_.size() - live.size(), first);
  }

  std::string step_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// What can be checked without the trainer.
void check_state(const Json& state, const Manifest& manifest, const std::string& name) {
  const auto step = json_get<std::int64_t>(state, "step", name);
  if (step != manifest.step)
    fail(ErrorKind::Corruption, "{}: step is {}, the manifest says {}", name, step, manifest.step);
  const auto tokens = json_get<std::int64_t>(state, "tokens", name, 0);
  if (tokens < 0 || tokens > kMostSteps)
    fail(ErrorKind::Corruption, "{}: tokens is {}; it must be from 0 to {}", name, tokens, kMostSteps);
}

Restored restore(const std::string& checkpoint, Manifest manifest,
                 std::span<const CheckpointArray> parameters,
                 const std::span<const CheckpointArray>* optimizer) {
  StoredArrays model(checkpoint, manifest, kModelStem), state(checkpoint, manifest, kOptimizerStem);
  model.match(parameters);
  if (optimizer) state.match(*optimizer);
  const std::string path = path_join(checkpoint, "state.json");
  const std::string name = path_join(base_name(checkpoint), "state.json");
  Json json = parse_json(read_text(path), name);
  check_state(json, manifest, name);
  model.copy(parameters);
  if (optimizer) state.copy(*optimizer);
  return {checkpoint, std::move(manifest), std::move(json)};
}

std::string free_name(const std::string& checkpoint) {
  std::string name = checkpoint + ".damaged";
  for (int i = 2; exists(name); ++i) name = fmt::format("{}.damaged-{}", checkpoint, i);
  return name;
}

// Moves a damaged checkpoint out of the way: the run will save that step again.
void set_aside(const std::string& checkpoint) {
  const std::string aside = free_name(checkpoint);
  in_context("while setting a damaged checkpoint aside", [&] {
    files().rename(checkpoint, aside);
    files().sync_directory(parent_path(checkpoint));
  });
  log_warning("the damaged checkpoint is kept as {}", base_name(aside));
}

// Another checkpoint may do better.
bool is_damage(ErrorKind kind) {
  return kind == ErrorKind::Corruption || kind == ErrorKind::Io || kind == ErrorKind::NotFound;
}

std::vector<FileInfo> infos_of(const std::string& checkpoint, const Manifest& manifest) {
  std::vector<FileInfo> out;
  for (const FileRecord& record : manifest.files)
    out.push_back(files().info(path_join(checkpoint, record.name)).value_or(FileInfo()));
  return out;
}

bool is_same(const FileInfo& a, const FileInfo& b) {
  return a.same_file(b) && a.size == b.size && a.modified_ns == b.modified_ns;
}

// Verified just now, or a while ago and the same since.
Manifest verified_manifest(const std::string& checkpoint, const VerifiedCheckpoint* before) {
  if (before == nullptr || before->path != checkpoint) return verify_checkpoint(checkpoint);
  const auto now = infos_of(checkpoint, before->manifest);
  const bool unchanged =
      std::equal(now.begin(), now.end(), before->files.begin(), before->files.end(), is_same);
  return unchanged && read_manifest(checkpoint) == before->manifest ? before->manifest
                                                                    : verify_checkpoint(checkpoint);
}

// One round of restore_latest: nothing but `trouble` if this worker cannot use the checkpoint.
std::optional<Restored> try_one(const std::string& checkpoint, std::span<const CheckpointArray> parameters,
                                std::span<const CheckpointArray> optimizer, const RestoreOptions& options,
                                std::string& trouble) {
  try {
    Restored restored =
        restore(checkpoint, verified_manifest(checkpoint, options.verified), parameters, &optimizer);
    if (options.take_state) in_context(base_name(checkpoint), [&] { options.take_state(restored.state); });
    return restored;
  } catch (const Error& e) {
    if (!is_damage(e.kind())) throw;
    trouble = e.what();
    return std::nullopt;
  }
}

// Everybody's trouble in one text, on all workers; empty if nobody has any.
std::string trouble_of_all(mesh::Communicator* workers, const std::string& mine) {
  if (workers == nullptr) return mine;
  std::vector<std::string> told;
  const auto all = mesh::all_gather_texts(*workers, mine);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    // Most often all find the same.
    if (i > 0 && all[i] == all[0]) continue;
    told.push_back(i == 0 ? all[i] : fmt::format("worker {}: {}", i, all[i]));
  }
  return join(told, "\n");
}

// What an earlier attempt said of a run whose checkpoints were all damaged: starting over must be asked for.
std::string set_aside_before(const std::string& run_directory) {
  if (!exists(run_directory)) return {};
  for (const auto& name : files().list(run_directory)) {
    if (name.starts_with("step-") && name.find(".damaged") != name.npos) return name;
  }
  return {};
}

}  // namespace

Manifest verify_checkpoint(const std::string& checkpoint) {
  if (!exists(path_join(checkpoint, "manifest.json")))
    fail(ErrorKind::Corruption, "{}: has no manifest.json; it is incomplete", base_name(checkpoint));
  Manifest manifest = read_manifest(checkpoint);
  const auto step = step_of_name(base_name(checkpoint));
  if (step && *step != manifest.step) {
    fail(ErrorKind::Corruption, "{}: its manifest is of step {}", base_name(checkpoint), manifest.step);
  }
  if (std::none_of(manifest.files.begin(), manifest.files.end(),
                   [](const FileRecord& file) { return file.name == "state.json"; })) {
    fail(ErrorKind::Corruption, "{}: its manifest lists no state.json", base_name(checkpoint));
  }
  const auto opened = open_files(checkpoint, manifest);
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const FileRecord& record = manifest.files[i];
    for (std::size_t k = 0; k < record.chunks.size(); ++k) chunks.push_back({opened[i].get(), &record, k});
  }
  const auto check = [&](std::int64_t i) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(i)];
    const std::string wrong = check_chunk(*chunk.file, *chunk.record, chunk.index);
    if (!wrong.empty())
      fail(ErrorKind::Corruption, "{}: {}: {}", base_name(checkpoint), chunk.record->name, wrong);
  };
  const int threads = manifest.total_bytes() < kWorthThreads ? 1 : 0;
  parallel_for(static_cast<std::int64_t>(chunks.size()), check, threads);
  return manifest;
}

VerifiedCheckpoint verify_for_restore(const std::string& checkpoint) {
  std::vector<FileInfo> before;
  if (exists(path_join(checkpoint, "manifest.json")))
    before = infos_of(checkpoint, read_manifest(checkpoint));
  return {checkpoint, verify_checkpoint(checkpoint), std::move(before)};
}

Restored restore_checkpoint(const std::string& checkpoint, std::span<const CheckpointArray> parameters,
                            std::span<const CheckpointArray> optimizer) {
  return restore(checkpoint, verify_checkpoint(checkpoint), parameters, &optimizer);
}

Restored restore_parameters(const std::string& checkpoint, std::span<const CheckpointArray> parameters) {
  return restore(checkpoint, verify_checkpoint(checkpoint), parameters, nullptr);
}

void require_fit(const std::string& checkpoint, std::span<const CheckpointArray> parameters) {
  StoredArrays(checkpoint, read_manifest(checkpoint), kModelStem).match(parameters);
}

void require_fit_of_state(const std::string& checkpoint, std::span<const CheckpointArray> optimizer) {
  StoredArrays(checkpoint, read_manifest(checkpoint), kOptimizerStem).match(optimizer);
}

std::optional<Restored> restore_latest(const std::string& run_directory,
                                       std::span<const CheckpointArray> parameters,
                                       std::span<const CheckpointArray> optimizer,
                                       const RestoreOptions& options) {
  const bool first = options.workers == nullptr || options.workers->rank() == 0;
  auto candidates = first ? named_checkpoints(run_directory) : std::vector<std::string>();
  std::vector<std::string> damaged;
  std::string last_error;
  while (true) {
    std::string path = candidates.empty() ? "" : candidates.back();
    if (options.workers != nullptr) path = mesh::broadcast_text(*options.workers, 0, path);
    if (path.empty()) break;
    std::string trouble;
    auto restored = try_one(path, parameters, optimizer, options, trouble);
    trouble = trouble_of_all(options.workers, trouble);
    if (trouble.empty()) {
      for (const std::string& checkpoint : damaged) set_aside(checkpoint);
      if (!damaged.empty()) log_warning("resuming from {} instead (verified)", base_name(path));
      return restored;
    }
    if (!first) continue;
    log_warning("{}", trouble);
    last_error = trouble;
    damaged.push_back(path);
    candidates.pop_back();
  }
  if (!first) return std::nullopt;
  if (last_error.empty()) last_error = set_aside_before(run_directory);
  if (last_error.empty()) return std::nullopt;
  fail(ErrorKind::Corruption,
       "{}: no valid checkpoint is left; the oldest: {}\nhint: nothing was changed; start over with --fresh, "
       "which keeps this directory under another name",
       run_directory, last_error);
}

namespace {

bool is_whole(const std::string& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string naming_another(const std::string& checkpoint, std::string error) {
  const auto name = base_name(checkpoint), run = parent_path(checkpoint);
  if (error.starts_with(name)) error = path_join(run, error);
  auto others = committed_checkpoints(run);
  std::erase_if(others, [&](const std::string& other) { return base_name(other) == name; });
  const auto whole = std::find_if(others.rbegin(), others.rend(), is_whole);
  if (whole == others.rend()) return error;
  return fmt::format("{}\nhint: {} is whole", error.substr(0, error.find("\nhint: ")), *whole);
}

std::string find_checkpoint(const std::string& path) {
  if (exists(path_join(path, "manifest.json"))) return path;
  const auto found = committed_checkpoints(path);
  if (found.empty())
    fail(ErrorKind::NotFound,
         "{}: is no checkpoint and holds none\nhint: give a run's folder, or step-N in it", path);
  return found.back();
}

}  // namespace bora::checkpoint
