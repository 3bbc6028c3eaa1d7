// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/lfs_pointer.h"
#include "bora/base/map_guard.h"
#include "bora/base/text.h"
#include "bora/checkpoint/convert.h"
#include "bora/checkpoint/weight_index.h"

namespace bora::checkpoint {
namespace {

std::uint64_t little_endian(std::span<const std::byte, 8> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> beginning(const ReadFile& file, std::uint64_t size) {
  std::vector<std::byte> out(std::min(size, file.size()));
  out.resize(file.read_at(0, out));
  return out;
}

// Size of the header, checked against the limit and the size of the file before anything else is touched.
std::uint64_t header_size(std::span<const std::byte> start, std::uint64_t size, const std::string& path) {
  if (start.size() < 8) {
    fail(ErrorKind::Corruption, "{}: safetensors: the file has {} bytes, less than the 8 of a header size",
         path, size);
  }
  const std::uint64_t n = little_endian(start.first<8>());
  if (n > kMaxSafetensorsHeader) {
    fail(ErrorKind::Corruption, "{}: safetensors: header size {} is above the format's limit of {}", path, n,
         kMaxSafetensorsHeader);
  }
  if (n > size - 8) {
    fail(ErrorKind::Corruption, "{}: safetensors: header size {} is larger than the file ({} bytes)", path, n,
         size);
  }
  return n;
}

[[noreturn]] void fail_missing(std::string_view path, std::string_view name,
                               const std::vector<std::string>& names) {
  fail(ErrorKind::NotFound, "{}: no tensor {}{}", path, name, did_you_mean(name, names));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(bora::files().open(path)) {
  refuse_lfs_pointer(path);
  const std::span<const std::byte> all = file_->map();
  std::vector<std::byte> header = beginning(*file_, 64);  // a copy: what is parsed must not change
  const std::uint64_t n = header_size(header, all.size(), path);
  header = beginning(*file_, 8 + n);
  data_ = all.subspan(8 + n);
  header_ = parse_safetensors_header(as_text(std::span(header).subspan(8)), data_.size(), path);
  for (const StoredTensor& tensor : header_.tensors) by_name_.emplace(tensor.name, &tensor);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

const StoredTensor& SafetensorsFile::at(std::string_view name) const {
  if (const StoredTensor* tensor = find(name)) return *tensor;
  std::vector<std::string> names;
  for (const auto& [key, tensor] : by_name_) names.emplace_back(key);
  fail_missing(path_, name, names);
}

std::span<const std::byte> SafetensorsFile::bytes(const StoredTensor& tensor) const {
  return data_.subspan(tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsFile::read_floats(const StoredTensor& tensor, std::span<float> out) const {
  const std::string who = fmt::format("{}: tensor {}", path_, tensor.name);
  const auto dtype = core_type(tensor.type);
  if (!dtype || !core::is_floating(*dtype)) {
    fail(ErrorKind::Unsupported,
         "{} is {}; only F64, F32, BF16 and F16 can be read as floats\nhint: store it as one of these", who,
         name(tensor.type));
  }
  mapped_to_floats(*dtype, bytes(tensor), out, who);
  file_->refuse_shorter();
}

void SafetensorsFile::copy(const StoredTensor& tensor, std::span<std::byte> out) const {
  const auto from = bytes(tensor);
  if (from.size() != out.size()) {
    fail(ErrorKind::InvalidArgument, "{}: tensor {} has {} bytes, not {}", path_, tensor.name, from.size(),
         out.size());
  }
  if (out.empty()) return;
  read_mapped([&] { std::memcpy(out.data(), from.data(), from.size()); });
  file_->refuse_shorter();
}

std::vector<float> SafetensorsFile::floats(std::string_view name) const {
  const StoredTensor& tensor = at(name);
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  read_floats(tensor, out);
  return out;
}

SafetensorsModel::SafetensorsModel(const std::string& path) : path_(path) {
  const auto info = bora::files().info(path);
  if (info && info->is_directory) {
    path_ = path_join(path, "model.safetensors");  // which transformers, too, takes before an index
    if (!exists(path_)) path_ = path_join(path, "model.safetensors.index.json");
    if (!exists(path_)) {
      fail(ErrorKind::NotFound, "{}: holds neither model.safetensors nor model.safetensors.index.json", path);
    }
  }
  if (path_.ends_with(".json")) {
    open_index(path_);
    return;
  }
  files_.push_back(std::make_unique<SafetensorsFile>(path_));
  for (const auto& tensor : files_[0]->tensors()) where_.emplace(tensor.name, files_[0].get());
}

void SafetensorsModel::open_index(const std::string& path) {
  std::map<std::string, const SafetensorsFile*> opened;
  for (const auto& [tensor, shard] : read_weight_index(path)) {
    const SafetensorsFile*& file = opened[shard];
    if (file == nullptr) {
      files_.push_back(std::make_unique<SafetensorsFile>(path_join(parent_path(path), shard)));
      file = files_.back().get();
    }
    if (file->find(tensor) == nullptr) {
      fail(ErrorKind::Corruption, "{}: weight_map: {} is said to be in {}, which does not hold it", path,
           tensor, shard);
    }
    where_.emplace(tensor, file);
  }
}

std::vector<std::string> SafetensorsModel::names() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : where_) out.push_back(name);
  return out;
}

const SafetensorsFile& SafetensorsModel::file_of(std::string_view name) const {
  const auto at = where_.find(name);
  if (at == where_.end()) fail_missing(path_, name, names());
  return *at->second;
}

std::optional<StoredTensorInfo> SafetensorsModel::find(std::string_view name) const {
  const auto at = where_.find(name);
  if (at == where_.end()) return std::nullopt;
  const StoredTensor& tensor = at->second->at(name);
  return StoredTensorInfo{tensor.shape, std::string(checkpoint::name(tensor.type)), at->second->path()};
}

const StoredTensor& SafetensorsModel::at(std::string_view name) const { return file_of(name).at(name); }

std::span<const std::byte> SafetensorsModel::bytes(std::string_view name) const {
  const SafetensorsFile& file = file_of(name);
  return file.bytes(file.at(name));
}

void SafetensorsModel::copy(std::string_view name, std::span<std::byte> out) const {
  const SafetensorsFile& file = file_of(name);
  file.copy(file.at(name), out);
}

void SafetensorsModel::forget(std::string_view name) const {
  const SafetensorsFile& file = file_of(name);
  file.forget(file.at(name));
}

void SafetensorsModel::read_floats(std::string_view name, std::span<float> out) const {
  const SafetensorsFile& file = file_of(name);
  file.read_floats(file.at(name), out);
}

}  // namespace bora::checkpoint
