// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/core/dtype.h"

namespace bora::checkpoint {

/// Element types of the safetensors format, in the order by which the format's own writer sorts tensors.
enum class StoredType : std::uint8_t {
  BOOL,
  F4,
  F6_E2M3,
  F6_E3M2,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64
};

std::string_view name(StoredType type);  ///< "BF16"
std::optional<StoredType> parse_stored_type(std::string_view text);
std::uint64_t bits(StoredType type);                    ///< of one element
std::optional<core::DType> core_type(StoredType type);  ///< nothing where core has no such type
StoredType stored_type(core::DType dtype);

/// One tensor of a safetensors file. Bytes [begin, end) of the data section, row-major, little endian.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;

  std::int64_t elements() const;
  std::uint64_t byte_size() const { return end - begin; }
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A parsed and checked header.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< by position in the file
  Metadata metadata;                  ///< `__metadata__`, in the order of the file
};

/// The largest header that is read; larger ones are refused before anything is allocated.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Parses the JSON of a header and checks every rule of the format against `data_bytes`, the size of the data
/// section: offsets ordered, without hole or overlap, starting at 0 and ending at the data's end; shapes and
/// types that give each tensor's size; no duplicate names or keys. `file` appears in errors (Corruption).
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           std::string_view file);

/// Size in bytes of a tensor, or nothing if it overflows or is not a whole number of bytes.
std::optional<std::uint64_t> stored_bytes(StoredType type, const std::vector<std::int64_t>& shape);

}  // namespace bora::checkpoint
