// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/safetensors_writer.h"

// step-N/
//   model-00001-of-0000M.safetensors ...       parameters, in the order of declaration; __metadata__:
//   "axes:NAME" -> axes optimizer-00001-of-0000M.safetensors ...   arrays of the optimizer state.json the
//   rest manifest.json                              written last (manifest.cpp)

namespace bora::checkpoint {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr const char* kManifest = "manifest.json";

TensorView view_of(const CheckpointArray& a, std::vector<core::HostView>& kept) {
  return in_context("while saving " + a.path, [&]() -> TensorView {
    const auto sizes = a.array.sizes();
    const auto bytes = kept.emplace_back(a.array, core::HostView::Use::read).bytes();
    return {a.path, a.array.dtype(), sizes, fmt::format("{}", fmt::join(a.names, ",")), bytes};
  });
}

// Writes the files of one checkpoint into a directory of its own and remembers their hashes.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(std::string directory) : directory_(std::move(directory)) {}

  void write_tensors(const std::string& stem, const std::vector<TensorView>& views,
                     const SaveOptions& options) {
    ShardOptions shards{
        .max_shard_bytes = options.max_shard_bytes, .number_single = true, .write_index = false};
    std::vector<TensorSource> sources;
    for (const TensorView& view : views) {
      sources.push_back(tensor_of_bytes(view.name, view.dtype, view.shape, view.bytes));
      shards.metadata.emplace_back("axes:" + view.name, view.axes);
    }
    shards.create = [&](const std::string& path) { return create(base_name(path)); };
    write_sharded(directory_, stem, std::move(sources), shards);
  }

  void write_text(const std::string& name, std::string_view text) {
    const auto file = create(name);
    file->write(as_bytes(text));
    file->sync();
    file->close();
  }

  std::vector<FileRecord> records() const { return {records_.begin(), records_.end()}; }

 private:
  std::unique_ptr<WriteFile> create(const std::string& name) {
    records_.push_back({.name = name});
    return std::make_unique<HashedFile>(files().create(path_join(directory_, name)), records_.back());
  }

  std::string directory_;
  std::deque<FileRecord> records_;  // a deque: files keep references into it
};

// Of one worker alone.
std::string temporary_directory(const std::string& run_directory, std::int64_t step) {
  static std::atomic<std::uint64_t> counter{0};
  return path_join(run_directory, fmt::format(".{}.tmp-{}-{}", checkpoint_name(step), ::getpid(), counter++));
}

// Of several workers: all must know its name. Only one attempt at a step is ever under way, and what an
// earlier one left was removed when the run began.
std::string common_directory(const std::string& run_directory, std::int64_t step) {
  return path_join(run_directory, fmt::format(".{}.tmp-workers", checkpoint_name(step)));
}

// A worker's note for the first one: the records of its files in the form of a manifest, or why there are
// none.
std::string note_path(const std::string& directory, int worker) {
  return path_join(directory, fmt::format("worker-{}.json", worker));
}
std::string refusal_path(const std::string& directory, int worker) {
  return path_join(directory, fmt::format("worker-{}.failed", worker));
}

// Appends the other workers' records, once all their files are there.
void take_notes(const std::string& directory, const CheckpointView& view, double deadline,
                std::vector<FileRecord>& records) {
  const double end = monotonic_seconds() + deadline;
  for (int worker = 1; worker < view.part.count; ++worker) {
    const std::string note = note_path(directory, worker), refusal = refusal_path(directory, worker);
    while (!exists(note)) {
      if (exists(refusal)) fail(ErrorKind::Io, "worker {}: {}", worker, read_text(refusal));
      if (view.given_up && *view.given_up)
        fail(ErrorKind::Stopped, "worker {} did not finish its files", worker);
      if (monotonic_seconds() > end) {
        fail(ErrorKind::Stopped,
             "worker {} did not finish its files within {} s\nhint: where its disk is that slow, a larger "
             "trainer.worker_timeout",
             worker, deadline);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (auto& record : parse_manifest(read_text(note), base_name(note)).files)
      records.push_back(std::move(record));
    files().remove(note);
  }
}

void remove_quietly(const std::string& path) noexcept {
  try {
    remove_all(path);
  } catch (const std::exception&) {  // the first error is the one to report; clean_leftovers() will see to
                                     // the rest
  }
}

// ".step-9.tmp-PID-N", ".step-9.removed", and ".NAME.PID.N.tmp" of write_atomically.
bool is_leftover(const std::string& name) {
  if (!name.starts_with('.')) return false;
  const auto parts = split(std::string_view(name).substr(1), '.');
  const auto n = parts.size();
  if (n == 2 && step_of_name(parts[0])) return parts[1].starts_with("tmp-") || parts[1] == "removed";
  return n > 3 && parts[n - 1] == "tmp" && parse_int(parts[n - 2]) && parse_int(parts[n - 3]);
}

void write_tensors(DirectoryWriter& writer, const CheckpointView& view, const SaveOptions& options) {
  const auto stem = [&](std::string_view of) {
    return view.part.count == 1 ? std::string(of) : fmt::format("{}-worker-{}", of, view.part.index);
  };
  if (view.part.count == 1 || !view.parameters.empty())
    writer.write_tensors(stem("model"), view.parameters, options);
  if (view.part.count == 1 || !view.optimizer.empty())
    writer.write_tensors(stem("optimizer"), view.optimizer, options);
}

Manifest write_into(const std::string& directory, const CheckpointView& view, const SaveOptions& options) {
  files().make_directories(directory);
  DirectoryWriter writer(directory);
  write_tensors(writer, view, options);
  Manifest manifest = view.manifest;
  if (view.part.count > 1) take_notes(directory, view, options.part_deadline, manifest.files);
  writer.write_text("state.json", view.state);
  for (auto& record : writer.records()) manifest.files.push_back(std::move(record));
  writer.write_text(kManifest, manifest_text(manifest));
  files().sync_directory(directory);
  return manifest;
}

struct Space {
  std::uint64_t needed, free;
  std::string text(const std::string& directory) const {
    return fmt::format("the checkpoint needs {}, {} are free in {}", human_bytes(static_cast<double>(needed)),
                       human_bytes(static_cast<double>(free)), directory);
  }
};

// Nothing where there is enough space, or where the file system does not tell.
std::optional<Space> lacking_space(const std::string& run_directory, std::uint64_t needed) noexcept {
  try {
    const std::uint64_t free = files().free_space(run_directory);
    return free < needed ? std::optional(Space{needed, free}) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// What all workers but the first do: files, and a note of them that appears whole.
Manifest write_part(const std::string& run_directory, const CheckpointView& view,
                    const SaveOptions& options) {
  const std::string directory = common_directory(run_directory, view.manifest.step);
  files().make_directories(directory);
  try {
    DirectoryWriter writer(directory);
    write_tensors(writer, view, options);
    Manifest note = view.manifest;
    note.files = writer.records();
    write_atomically(note_path(directory, view.part.index), manifest_text(note));
    return note;
  } catch (const std::exception& e) {
    try {
      write_atomically(refusal_path(directory, view.part.index), e.what());
    } catch (const std::exception&) {  // rank 0's deadline tells
    }
    throw;
  }
}

Manifest write_and_commit(const std::string& run_directory, const std::string& target,
                          const CheckpointView& view, const SaveOptions& options) {
  const std::string temporary = view.part.count == 1 ? temporary_directory(run_directory, view.manifest.step)
                                                     : common_directory(run_directory, view.manifest.step);
  Manifest manifest;
  try {
    manifest = write_into(temporary, view, options);
    files().rename(temporary, target);
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
  files().sync_directory(run_directory);
  return manifest;
}

}  // namespace

std::vector<CheckpointArray> checkpoint_arrays(std::span<const core::Parameter> parameters) {
  std::vector<CheckpointArray> out;
  for (const auto& p : parameters)
    out.push_back({.path = p.path, .names = p.axes, .array = *p.array, .parameter = p.id});
  return out;
}

std::vector<CheckpointArray> checkpoint_arrays(std::span<const optim::NamedArray> state) {
  std::vector<CheckpointArray> out;
  for (const auto& a : state)
    out.push_back({.path = a.name, .names = a.names, .array = a.array, .parameter = a.layout.parameter()});
  return out;
}

std::vector<std::int64_t> CheckpointArray::whole_sizes() const {
  if (!outer.empty()) return outer[0].cut.sizes();
  return cut.replicated() ? array.sizes() : cut.sizes();
}

void CheckpointArray::take(const float* whole) const {
  auto cuts = outer;
  if (!cut.replicated()) cuts.push_back({cut, worker});
  const core::HostView own(array, core::HostView::Use::write);
  const bool narrow = array.dtype() != core::DType::f32;
  std::vector<float> block, of_block;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool here = !narrow && i + 1 == cuts.size();
    if (!here) of_block.resize(static_cast<std::size_t>(cuts[i].cut.elements(cuts[i].worker)));
    cuts[i].cut.extract(cuts[i].worker, whole, here ? own.floats().data() : of_block.data());
    std::swap(block, of_block);
    whole = block.data();
  }
  if (narrow) from_floats(block, array.dtype(), own.bytes(), path);
}

std::uint64_t CheckpointView::tensor_bytes() const {
  std::uint64_t total = 0;
  for (const auto* tensors : {&parameters, &optimizer}) {
    for (const TensorView& tensor : *tensors) total += tensor.bytes.size();
  }
  return total;
}

CheckpointView view_of(const CheckpointContent& content) {
  CheckpointView view;
  view.manifest.step = content.step;
  view.manifest.lanes = content.lanes;
  view.manifest.mesh = content.mesh;
  view.manifest.config_hash = content.config_hash;
  view.manifest.temporary = content.temporary;
  view.manifest.time = wall_seconds();
  for (const auto& array : content.parameters) view.parameters.push_back(view_of(array, view.kept));
  for (const auto& array : content.optimizer) view.optimizer.push_back(view_of(array, view.kept));
  view.state = content.state.dump(2) + "\n";
  view.part = content.part;
  return view;
}

Manifest save_checkpoint(const std::string& run_directory, const CheckpointContent& content,
                         const SaveOptions& options) {
  return write_checkpoint(run_directory, view_of(content), options);
}

Manifest write_checkpoint(const std::string& run_directory, const CheckpointView& view,
                          const SaveOptions& options) {
  const std::string name = checkpoint_name(view.manifest.step);
  const std::string target = path_join(run_directory, name);
  const std::uint64_t needed = view.tensor_bytes() + view.state.size();
  try {
    return in_context("while saving " + name, [&] {
      files().make_directories(run_directory);
      if (exists(target)) {
        fail(ErrorKind::InvalidArgument,
             "{} exists, and checkpoints are never overwritten\nhint: use another run id", target);
      }
      if (const auto space = lacking_space(run_directory, needed))
        log_warning("{}", space->text(run_directory));
      return view.part.index == 0 ? write_and_commit(run_directory, target, view, options)
                                  : write_part(run_directory, view, options);
    });
  } catch (const Error& e) {
    const auto space = e.kind() == ErrorKind::Io ? lacking_space(run_directory, needed) : std::nullopt;
    if (!space) throw;
    throw Error(e.kind(), fmt::format("{}\nhint: {}", e.what(), space->text(run_directory)));
  }
}

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{}", kPrefix, step); }

std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = parse_int(name.substr(kPrefix.size()));
  return step && *step >= 0 && checkpoint_name(*step) == name ? step : std::nullopt;
}

std::vector<std::string> committed_checkpoints(const std::string& run_directory) {
  auto out = named_checkpoints(run_directory);
  std::erase_if(out, [](const std::string& path) { return !exists(path_join(path, kManifest)); });
  return out;
}

std::vector<std::string> named_checkpoints(const std::string& run_directory) {
  const auto info = files().info(run_directory);
  if (!info || !info->is_directory) return {};
  std::vector<std::int64_t> steps;
  for (const std::string& name : files().list(run_directory)) {
    if (const auto step = step_of_name(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<std::string> out;
  for (const std::int64_t step : steps) out.push_back(path_join(run_directory, checkpoint_name(step)));
  return out;
}

Manifest read_manifest(const std::string& checkpoint) {
  const std::string path = path_join(checkpoint, kManifest);
  return parse_manifest(read_text(path), path_join(base_name(checkpoint), kManifest));
}

void make_permanent(const std::string& checkpoint) {
  Manifest manifest = read_manifest(checkpoint);
  if (!manifest.temporary) return;
  manifest.temporary = false;
  write_atomically(path_join(checkpoint, kManifest), manifest_text(manifest));
}

void clean_leftovers(const std::string& run_directory) {
  if (!exists(run_directory)) return;
  for (const std::string& name : files().list(run_directory)) {
    if (is_leftover(name)) remove_all(path_join(run_directory, name));
  }
}

void remove_checkpoint(const std::string& checkpoint) {
  const std::string hidden =
      path_join(parent_path(checkpoint), fmt::format(".{}.removed", base_name(checkpoint)));
  remove_all(hidden);  // of an earlier attempt
  files().rename(checkpoint, hidden);
  files().sync_directory(parent_path(checkpoint));  // it must not come back without some of its files
  remove_all(hidden);
}

}  // namespace bora::checkpoint
