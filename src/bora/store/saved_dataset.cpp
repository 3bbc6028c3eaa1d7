// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/saved_dataset.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"

namespace bora::store {
namespace {

constexpr std::uint64_t kLargestList = 64 << 20;

Json read_list(const std::string& path) {
  const auto info = files().info(path);
  if (!info)
    fail(ErrorKind::NotFound, "{}: does not exist\nhint: a part of the data set is missing; copy all of it",
         path);
  if (info->size > kLargestList) fail(ErrorKind::Corruption, "{}: larger than any such list", path);
  return parse_json(read_text(path), path);
}

/// A name in a list must stay in its directory.
std::string inside(const std::string& directory, const std::string& name, const std::string& list) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
    fail(ErrorKind::Corruption, "{}: names the file \"{}\", outside of its directory", list, name);
  return path_join(directory, name);
}

const Json& entries(const Json& json, const std::string& key, const std::string& list) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  if (at == json.end() || !at->is_array()) fail(ErrorKind::Corruption, "{}: {} should be a list", list, key);
  return *at;
}

std::vector<std::string> files_of_split(const std::string& directory, const std::string& list) {
  const Json state = read_list(list);
  const Json& names = entries(state, "_data_files", list);
  const auto selected = state.find("_indices_files");
  if (selected != state.end() && selected->is_array() && !selected->empty()) {
    fail(ErrorKind::Unsupported,
         "{}: rows were selected without being written\nhint: flatten_indices() before save_to_disk", list);
  }
  std::vector<std::string> out;
  for (const auto& name : names)
    out.push_back(inside(directory, json_get<std::string>(name, "filename", list), list));
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> saved_dataset_files(const std::string& directory) {
  const std::string state = path_join(directory, "state.json"),
                    splits = path_join(directory, "dataset_dict.json");
  if (exists(state) && exists(path_join(directory, "dataset_info.json")))
    return files_of_split(directory, state);
  if (!exists(splits)) return {};
  const Json list = read_list(splits);
  std::vector<std::string> names;
  for (const auto& name : entries(list, "splits", splits)) {
    if (!name.is_string()) fail(ErrorKind::Corruption, "{}: splits should be names", splits);
    names.push_back(name.get<std::string>());
  }
  if (names.size() != 1) {
    fail(ErrorKind::Config,
         "data files: {} holds the splits {}\nhint: give the folder of one, for example {}", directory,
         names.empty() ? "none" : join(names), path_join(directory, names.empty() ? "train" : names[0]));
  }
  const std::string split = inside(directory, names[0], splits);
  return files_of_split(split, path_join(split, "state.json"));
}

}  // namespace bora::store
