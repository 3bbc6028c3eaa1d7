// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/weight_index.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

// Only a bare name is accepted: no separators, no "..", nothing that the file system could read otherwise.
void check_shard_name(const std::string& shard, const std::string& tensor, const std::string& index) {
  const bool bare = !shard.empty() && shard != "." && shard != ".." && shard.size() <= 255 &&
                    shard.find_first_of(std::string_view("/\\\0:", 4)) == std::string::npos;
  if (!bare || !shard.ends_with(".safetensors")) {
    fail(ErrorKind::Corruption,
         "{}: weight_map: {} is said to be in {}, which is not the plain name of a .safetensors file", index,
         tensor, Json(shard.substr(0, 300)).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

// Of all shards at once: half of a model is of no use.
void require_shards(const Json& weight_map, const std::string& path) {
  std::map<std::string, std::vector<std::string>> missing;  // tensors by shard
  std::set<std::string> seen;
  for (const auto& [tensor, value] : weight_map.items()) {
    if (!value.is_string())
      fail(ErrorKind::Corruption, "{}: weight_map: {} should be a file name", path, tensor);
    const auto shard = value.get<std::string>();
    if (seen.insert(shard).second) {
      check_shard_name(shard, tensor, path);
      if (!exists(path_join(parent_path(path), shard))) missing[shard] = {};
    }
    if (const auto at = missing.find(shard); at != missing.end()) at->second.push_back(tensor);
  }
  if (missing.empty()) return;
  std::string lines;
  for (const auto& [shard, tensors] : missing) {
    const auto more = tensors.size() - 1;
    lines += fmt::format("\n  {}, which holds {}{}", shard, tensors.front(),
                         more > 0 ? fmt::format(" and {} more tensor{}", more, more > 1 ? "s" : "") : "");
  }
  fail(ErrorKind::NotFound, "{}: {} of {} shards {} not there:{}\nhint: fetch them into {}", path,
       missing.size(), seen.size(), missing.size() > 1 ? "are" : "is", lines, parent_path(path));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_weight_index(const std::string& path) {
  const auto info = files().info(path);
  if (info && info->size > kMaxIndexBytes) {
    fail(ErrorKind::Corruption, "{}: {} bytes are too many for an index (limit {})", path, info->size,
         kMaxIndexBytes);
  }
  const Json index = parse_json(read_text(path), path);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) fail(ErrorKind::Corruption, "{}: weight_map is missing", path);
  require_shards(*map, path);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [tensor, shard] : map->items()) out.emplace_back(tensor, shard.get<std::string>());
  return out;
}

}  // namespace bora::checkpoint
