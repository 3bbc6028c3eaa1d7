// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/file.h"
#include "bora/checkpoint/gguf_header.h"
#include "bora/checkpoint/stored_tensors.h"

namespace bora::checkpoint {

/// A GGUF file opened for reading: mapped, header checked. Names and values are llama.cpp's.
class GgufFile : public StoredTensors {
 public:
  /// Errors: NotFound, Io; those of parse_gguf_header.
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return path_; }
  const GgufHeader& header() const { return header_; }
  /// The value of a key; null where it is not there.
  const Json* value(std::string_view key) const;

  std::vector<std::string> names() const override;
  std::optional<StoredTensorInfo> find(std::string_view name) const override;
  /// Those of a block are its whole numbers times its scale, as in ggml.
  void read_floats(std::string_view name, std::span<float> out) const override;
  void forget(std::string_view name) const override;

 private:
  const GgufStoredTensor& at(std::string_view name) const;
  std::span<const std::byte> bytes(const GgufStoredTensor& tensor) const;

  std::string path_;
  std::unique_ptr<ReadFile> file_;
  std::span<const std::byte> all_;
  GgufHeader header_;
  std::map<std::string_view, const GgufStoredTensor*> by_name_;
};

}  // namespace bora::checkpoint
