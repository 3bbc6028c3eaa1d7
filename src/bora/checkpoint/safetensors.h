// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/file.h"
#include "bora/checkpoint/safetensors_header.h"
#include "bora/checkpoint/stored_tensors.h"

namespace bora::checkpoint {

/// A safetensors file opened for reading: mapped, header checked. Any number of threads may read.
/// Format: docs/formats/checkpoint.md and https://github.com/huggingface/safetensors.
class SafetensorsFile {
 public:
  /// Errors: NotFound, Io; Corruption for anything that contradicts the format, naming the file.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }  ///< by position in the file
  const Metadata& metadata() const { return header_.metadata; }

  const StoredTensor* find(std::string_view name) const;
  /// NotFound with the nearest name.
  const StoredTensor& at(std::string_view name) const;

  /// The tensor's bytes in the mapped file, at no particular alignment.
  std::span<const std::byte> bytes(const StoredTensor& tensor) const;
  /// Copies them; `out` is as long. Errors: Corruption if the file has become shorter since it was opened.
  void copy(const StoredTensor& tensor, std::span<std::byte> out) const;
  /// Whoever has copied the tensor lets its pages go: else a file that was read once stays in memory.
  void forget(const StoredTensor& tensor) const { file_->forget(bytes(tensor)); }

  /// Values of a floating tensor (F64, F32, BF16, F16) as fp32, row-major. Unsupported for other types;
  /// Corruption as copy().
  void read_floats(const StoredTensor& tensor, std::span<float> out) const;
  std::vector<float> floats(std::string_view name) const;

 private:
  std::string path_;
  std::unique_ptr<ReadFile> file_;
  SafetensorsHeader header_;
  std::span<const std::byte> data_;
  std::map<std::string_view, const StoredTensor*> by_name_;
};

/// A model in one file or several: `X.safetensors`, `X.safetensors.index.json`, or a directory that holds
/// model.safetensors or, else, model.safetensors.index.json.
class SafetensorsModel : public StoredTensors {
 public:
  /// Shards named by an index must be plain file names beside it: anything that could reach elsewhere is
  /// Corruption.
  explicit SafetensorsModel(const std::string& path);

  std::vector<std::string> names() const override;
  std::optional<StoredTensorInfo> find(std::string_view name) const override;
  /// NotFound with the nearest name.
  const StoredTensor& at(std::string_view name) const;
  std::span<const std::byte> bytes(std::string_view name) const;
  void copy(std::string_view name, std::span<std::byte> out) const;  ///< see SafetensorsFile
  void read_floats(std::string_view name, std::span<float> out) const override;
  void forget(std::string_view name) const override;  ///< see SafetensorsFile
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }

 private:
  const SafetensorsFile& file_of(std::string_view name) const;
  void open_index(const std::string& path);
  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsFile*, std::less<>> where_;
};

}  // namespace bora::checkpoint
