// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/checkpoint/hashed_file.h"

namespace bora::checkpoint {

/// Version of the directory format that this program writes; it reads this and older ones.
inline constexpr std::int64_t kFormatVersion = 1;

/// manifest.json of a checkpoint: what is in it, and the hash of every file.
struct Manifest {
  std::int64_t version = kFormatVersion;
  std::int64_t step = 0;
  std::int64_t lanes = 1;   ///< a power of two
  std::string mesh;         ///< of the run that wrote it; any mesh can read it
  std::string config_hash;  ///< of the resolved configuration
  bool temporary = false;   ///< may be removed once a newer one is there
  double time = 0;          ///< seconds since the epoch
  std::vector<FileRecord> files;

  std::uint64_t total_bytes() const;
  bool operator==(const Manifest&) const = default;
};

/// The manifest as text, ending in the hash of all that stands before it.
std::string manifest_text(const Manifest& manifest);

/// No run gets as far: steps and tokens beyond it are damage.
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

/// Reads and checks: its own hash, types, possible values, file names (plain ones), number of chunks. `path`
/// appears in errors: Corruption, or Unsupported for a newer version.
Manifest parse_manifest(std::string_view text, std::string_view path);

}  // namespace bora::checkpoint
