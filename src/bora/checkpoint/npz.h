// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bora/base/file.h"

namespace bora::checkpoint {

/// The arrays of a file that numpy.savez wrote: a ZIP archive of NPY files that are stored as they are.
class NpzFile {
 public:
  struct Array {
    std::string name;   ///< "arr_0"
    std::string descr;  ///< as numpy spells a type: "<f4", "|V2"
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;  ///< row-major, in the mapped file
  };

  /// Errors: NotFound; Corruption for what contradicts the formats or the file's size; Unsupported for compressed
  /// arrays and those by columns.
  explicit NpzFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<Array>& arrays() const { return arrays_; }  ///< in the archive's order
  /// The array's pages may leave memory.
  void forget(const Array& array) const { file_->forget(array.bytes); }

 private:
  std::string path_;
  std::unique_ptr<ReadFile> file_;
  std::vector<Array> arrays_;
};

}  // namespace bora::checkpoint
