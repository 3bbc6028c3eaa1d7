// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/manifest.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <optional>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/seal.h"
#include "bora/base/text.h"

// manifest = a sealed JSON object (base/seal.h):
//            {"format": "bora checkpoint", "version", "step", "lanes", "mesh", "config_hash", "temporary",
//             "time", "time_text", "block_size",
//             "files": [{"name", "size", "xxh3_128", "blocks": [hash, ...]}, ...]}

namespace bora::checkpoint {
namespace {

constexpr std::string_view kFormat = "bora checkpoint";
constexpr double kYear9999 = 253402300799;

std::optional<Hash128> parse_hash(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  std::uint64_t half[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const char *begin = text.data() + 16 * i, *end = begin + 16;
    const auto [stop, error] = std::from_chars(begin, end, half[i], 16);
    if (error != std::errc() || stop != end) return std::nullopt;
  }
  const Hash128 hash{half[0], half[1]};
  return hash.hex() == text ? std::optional(hash) : std::nullopt;  // lower case only
}

Hash128 read_hash(const Json& value, std::string_view path) {
  const auto hash = value.is_string() ? parse_hash(value.get_ref<const std::string&>()) : std::nullopt;
  if (!hash) fail(ErrorKind::Corruption, "{}: a hash should be 32 hexadecimal digits", path);
  return *hash;
}

FileRecord read_record(const Json& json, std::string_view path) {
  FileRecord record;
  record.name = json_get<std::string>(json, "name", path);
  const auto size = json_get<std::int64_t>(json, "size", path);
  if (record.name.empty() || record.name.find_first_of(std::string_view("/\0", 2)) != std::string::npos ||
      record.name == "." || record.name == ".." || size < 0) {
    fail(ErrorKind::Corruption, "{}: \"{}\" of {} bytes cannot be a file of a checkpoint", path, record.name,
         size);
  }
  record.size = static_cast<std::uint64_t>(size);
  record.hash = read_hash(json.value("xxh3_128", Json()), path);
  for (const Json& chunk : json.value("blocks", Json::array()))
    record.chunks.push_back(read_hash(chunk, path));
  if (record.chunks.size() != (record.size + kHashChunk - 1) / kHashChunk) {
    fail(ErrorKind::Corruption, "{}: {} of {} bytes has {} chunk hashes", path, record.name, record.size,
         record.chunks.size());
  }
  return record;
}

Json to_json(const FileRecord& record) {
  Json chunks = Json::array();
  for (const Hash128& chunk : record.chunks) chunks.push_back(chunk.hex());
  return Json{
      {"name", record.name}, {"size", record.size}, {"xxh3_128", record.hash.hex()}, {"blocks", chunks}};
}

}  // namespace

std::uint64_t Manifest::total_bytes() const {
  std::uint64_t total = 0;
  for (const FileRecord& file : files) total += file.size;
  return total;
}

std::string manifest_text(const Manifest& m) {
  Json files = Json::array();
  for (const FileRecord& file : m.files) files.push_back(to_json(file));
  const Json json{{"format", kFormat},        {"version", m.version},     {"step", m.step},
                  {"lanes", m.lanes},         {"mesh", m.mesh},           {"config_hash", m.config_hash},
                  {"temporary", m.temporary}, {"time", m.time},           {"time_text", iso_time(m.time)},
                  {"block_size", kHashChunk}, {"files", std::move(files)}};
  return sealed(json.dump(2), 2);
}

Manifest parse_manifest(std::string_view text, std::string_view path) {
  if (seal_of(text) != Seal::Fits)
    fail(ErrorKind::Corruption, "{}: its own hash does not fit; the manifest is damaged", path);
  const Json json = parse_json(text, path);
  Manifest m;
  m.version = json_get<std::int64_t>(json, "version", path);
  if (json_get<std::string>(json, "format", path) != kFormat) {
    fail(ErrorKind::Corruption, "{}: is no manifest of a checkpoint", path);
  }
  if (m.version > kFormatVersion) {
    fail(ErrorKind::Unsupported,
         "{}: has format version {}, this program reads up to {}\nhint: use a newer Bora", path, m.version,
         kFormatVersion);
  }
  m.step = json_get<std::int64_t>(json, "step", path);
  if (m.step < 0 || m.step > kMostSteps)
    fail(ErrorKind::Corruption, "{}: step is {}; it must be from 0 to {}", path, m.step, kMostSteps);
  m.lanes = json_get<std::int64_t>(json, "lanes", path);
  if (m.lanes < 1 || !std::has_single_bit(static_cast<std::uint64_t>(m.lanes)))
    fail(ErrorKind::Corruption, "{}: lanes is {}; it must be a power of two, at least 1", path, m.lanes);
  m.mesh = json_get<std::string>(json, "mesh", path);
  m.config_hash = json_get<std::string>(json, "config_hash", path);
  m.temporary = json_get<bool>(json, "temporary", path);
  m.time = json_get<double>(json, "time", path);
  if (m.time < 0 || m.time > kYear9999)
    fail(ErrorKind::Corruption, "{}: time is {}; it must be seconds since 1970", path, m.time);
  if (json_get<std::int64_t>(json, "block_size", path) != static_cast<std::int64_t>(kHashChunk)) {
    fail(ErrorKind::Corruption, "{}: block_size should be {}", path, kHashChunk);
  }
  for (const Json& file : json.value("files", Json::array())) m.files.push_back(read_record(file, path));
  return m;
}

}  // namespace bora::checkpoint
