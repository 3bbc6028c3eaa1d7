// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a GGUF file says before its numbers begin. Loads no tensor library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"

namespace bora::checkpoint {

/// How the numbers of a tensor may be stored where Bora reads them.
enum class GgufStored : std::uint32_t { f32 = 0, f16 = 1, q8_0 = 8, bf16 = 30 };
/// "F32", "F16", "Q8_0", "BF16".
std::string_view name(GgufStored type);

struct GgufStoredTensor {
  std::string name;
  GgufStored type = GgufStored::f32;
  std::vector<std::int64_t> shape;   ///< the outermost axis first
  std::uint64_t begin = 0, end = 0;  ///< bytes behind the beginning of the data
};

struct GgufHeader {
  std::uint32_t version = 0;
  /// A real number of 32 bits is the shortest decimal that it is nearest to: 1e-5, not 9.99999974e-06.
  std::map<std::string, Json, std::less<>> metadata;
  std::vector<GgufStoredTensor> tensors;  ///< in the order of the file
  std::uint64_t data = 0;                 ///< where the numbers begin
};

/// Parses the beginning of a file of versions 2 and 3; `file` is the whole of it. Errors name `path` and the key
/// or tensor: Corruption for what contradicts the format: another beginning, counts, lengths and places beyond the
/// end, a name that stands there twice, tensors that overlap; Unsupported for numbers that are big endian, other
/// versions, and tensors of kinds that are not read.
GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& path);

/// Whether `path` is a file that begins as GGUF does, or is called .gguf.
bool is_gguf(const std::string& path);

}  // namespace bora::checkpoint
