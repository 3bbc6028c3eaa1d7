// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/safetensors_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/temporary_file.h"
#include "bora/base/text.h"
#include "bora/checkpoint/convert.h"

// file     = size header padding data
// size     = u64, little endian: bytes of header and padding
// header   = JSON object: optional "__metadata__": {string: string, ...}, then for each tensor, in the order
// of the
//            data, NAME: {"dtype": TYPE, "shape": [n, ...], "data_offsets": [begin, end]}
// padding  = spaces, so that data begins at a multiple of 8
// data     = the tensors' elements, row-major, little endian, without gaps

namespace bora::checkpoint {
namespace {

constexpr std::size_t kConvertedAtOnce = 1 << 18;  // elements converted at a time

void check_tensors(const std::vector<TensorSource>& tensors, const std::string& path) {
  std::vector<std::string_view> names;
  for (const auto& tensor : tensors) {
    names.push_back(tensor.name);
    if (tensor.name == "__metadata__" || invalid_utf8(tensor.name)) {
      fail(ErrorKind::InvalidArgument, "{}: a tensor cannot be named \"{}\"", path,
           invalid_utf8(tensor.name) ? "(invalid UTF-8)" : tensor.name);
    }
    for (const std::int64_t n : tensor.shape) {
      if (n < 0) fail(ErrorKind::InvalidArgument, "{}: tensor {}: size {} is negative", path, tensor.name, n);
    }
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail(ErrorKind::InvalidArgument, "{}: two tensors are named {}", path, *twice);
}

std::string header_text(const std::vector<TensorSource>& tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    Json& object = header["__metadata__"] = Json::object();
    for (const auto& [key, value] : metadata) object.get_ref<Json::object_t&>().emplace_back(key, value);
  }
  std::uint64_t at = 0;
  for (const auto& tensor : tensors) {
    const std::uint64_t end = at + tensor.byte_size();
    header.get_ref<Json::object_t&>().emplace_back(tensor.name,
                                                   Json{{"dtype", name(stored_type(tensor.dtype))},
                                                        {"shape", tensor.shape},
                                                        {"data_offsets", {at, end}}});
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

void write_tensor(WriteFile& file, const std::string& path, const TensorSource& tensor) {
  std::uint64_t written = 0;
  tensor.produce([&](std::span<const std::byte> bytes) {
    written += bytes.size();
    if (!bytes.empty()) file.write(bytes);
  });
  if (written != tensor.byte_size()) {
    fail(ErrorKind::InvalidArgument, "{}: tensor {}: its source gave {} bytes instead of {}", path,
         tensor.name, written, tensor.byte_size());
  }
}

std::vector<std::vector<TensorSource>> into_shards(std::vector<TensorSource> tensors, std::uint64_t budget) {
  std::vector<std::vector<TensorSource>> shards(1);
  std::uint64_t used = 0;
  for (auto& tensor : tensors) {
    const std::uint64_t size = tensor.byte_size();
    if (!shards.back().empty() && used + size > budget) {
      shards.emplace_back();
      used = 0;
    }
    used += size;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

std::string shard_name(const std::string& stem, std::size_t index, std::size_t count,
                       const ShardOptions& options) {
  if (count == 1 && !options.number_single) return stem + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem, index + 1, count);
}

std::unique_ptr<WriteFile> create_file(const std::string& path, const ShardOptions& options) {
  return options.create ? options.create(path) : files().create(path);
}

std::string index_text(const std::vector<std::pair<std::string, std::string>>& places, std::uint64_t total) {
  Json map = Json::object();
  for (const auto& [tensor, shard] : places) map.get_ref<Json::object_t&>().emplace_back(tensor, shard);
  return Json{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}.dump(2) + "\n";
}

void write_whole(WriteFile& file, std::string_view text) {
  file.write(as_bytes(text));
  file.sync();
  file.close();
}

}  // namespace

std::uint64_t TensorSource::byte_size() const {
  const auto size = stored_bytes(stored_type(dtype), shape);
  if (!size) fail(ErrorKind::InvalidArgument, "tensor {}: its sizes overflow", name);
  return *size;
}

TensorSource tensor_of_bytes(std::string name, core::DType dtype, std::vector<std::int64_t> shape,
                             std::span<const std::byte> bytes) {
  return {std::move(name), dtype, std::move(shape), [bytes](const ByteSink& sink) { sink(bytes); }};
}

TensorSource tensor_of_floats(std::string name, core::DType dtype, std::vector<std::int64_t> shape,
                              std::span<const float> values) {
  auto produce = [name, dtype, values](const ByteSink& sink) {
    if (dtype == core::DType::f32) return sink(std::as_bytes(values));
    std::vector<std::byte> piece;
    for (std::size_t at = 0; at < values.size(); at += kConvertedAtOnce) {
      const auto part = values.subspan(at, std::min(kConvertedAtOnce, values.size() - at));
      piece.resize(part.size() * core::bytes(dtype));
      from_floats(part, dtype, piece, name);
      sink(piece);
    }
  };
  return {std::move(name), dtype, std::move(shape), std::move(produce)};
}

void write_safetensors(WriteFile& file, const std::string& path, std::vector<TensorSource> tensors,
                       Metadata metadata) {
  check_tensors(tensors, path);
  std::sort(metadata.begin(), metadata.end());
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    const auto x = stored_type(a.dtype), y = stored_type(b.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  const std::string header = header_text(tensors, metadata);
  if (header.size() > kMaxSafetensorsHeader) {
    fail(ErrorKind::InvalidArgument, "{}: a header of {} bytes is above the format's limit of {}", path,
         header.size(), kMaxSafetensorsHeader);
  }
  std::array<std::byte, 8> size;
  for (std::size_t i = 0; i < 8; ++i) size[i] = static_cast<std::byte>(header.size() >> 8 * i & 0xff);
  file.write(size);
  file.write(as_bytes(header));
  for (const auto& tensor : tensors) write_tensor(file, path, tensor);
}

void write_safetensors(const std::string& path, std::vector<TensorSource> tensors, Metadata metadata) {
  if (const auto there = files().info(path); there && (there->is_device || there->is_directory)) {
    fail(ErrorKind::InvalidArgument, "{}: is no file that can be replaced\nhint: give the name of a new file",
         path);
  }
  const std::string temporary = temporary_beside(path);
  try {
    const auto file = files().create(temporary);
    write_safetensors(*file, path, std::move(tensors), std::move(metadata));
    file->sync();
    file->close();
    files().rename(temporary, path);
  } catch (...) {
    remove_unfinished(temporary);
    throw;
  }
  files().sync_directory(parent_path(path));
}

std::vector<std::string> write_sharded(const std::string& directory, const std::string& stem,
                                       std::vector<TensorSource> tensors, const ShardOptions& options) {
  check_tensors(tensors, path_join(directory, stem));  // also across shards
  auto shards = into_shards(std::move(tensors), options.max_shard_bytes);
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> places;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    names.push_back(shard_name(stem, i, shards.size(), options));
    for (const auto& tensor : shards[i]) {
      places.emplace_back(tensor.name, names.back());
      total += tensor.byte_size();
    }
    const std::string path = path_join(directory, names.back());
    const auto file = create_file(path, options);
    write_safetensors(*file, path, std::move(shards[i]), options.metadata);
    file->sync();
    file->close();
  }
  if (names.size() > 1 && options.write_index) {
    names.push_back(stem + ".safetensors.index.json");
    std::sort(places.begin(), places.end());
    write_whole(*create_file(path_join(directory, names.back()), options), index_text(places, total));
  }
  return names;
}

}  // namespace bora::checkpoint
