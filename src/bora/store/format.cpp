// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/format.h"

#include <optional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/lfs_pointer.h"

namespace bora::store {
namespace {

bool is_table(std::string_view path) {
  return path.ends_with(".parquet") || path.ends_with(".arrow") || path.ends_with(".feather");
}

std::optional<FileFormat> format_of(std::string_view path) {
  FileFormat format;
  const auto strip = [&](std::string_view suffix) {
    if (!path.ends_with(suffix)) return false;
    path.remove_suffix(suffix.size());
    return true;
  };
  if (strip(".gz"))
    format.compression = Compression::Gzip;
  else if (strip(".zst") || strip(".zstd"))
    format.compression = Compression::Zstd;
  else if (strip(".bz2"))
    format.compression = Compression::Bzip2;

  if (path.ends_with(".txt") || path.ends_with(".text"))
    format.layout = Layout::Text;
  else if (path.ends_with(".jsonl") || path.ends_with(".ndjson"))
    format.layout = Layout::Lines;
  else if (path.ends_with(".json"))
    format.layout = Layout::Json;
  else if (is_table(path) && format.compression == Compression::None)
    format.layout = Layout::Table;
  else
    return {};
  return format;
}

std::string_view conversion_hint(std::string_view path) {
  for (auto suffix : {".gz", ".zst", ".bz2"}) {
    if (path.ends_with(suffix) && is_table(path.substr(0, path.rfind('.'))))
      return "; decompress it: its columns are compressed already";
  }
  for (auto suffix : {".xz", ".zip", ".tar"}) {
    if (path.ends_with(suffix)) return "; recompress it, for example with zstd";
  }
  return "";
}

}  // namespace

FileFormat file_format(std::string_view path) {
  if (auto format = format_of(path)) return *format;
  fail(ErrorKind::Unsupported,
       "data files: {}: the name ends in no format Bora reads\nhint: it reads .txt, .jsonl and .json, plain, "
       ".gz, .zst or .bz2, and .parquet, .arrow and .feather{}",
       path, conversion_hint(path));
}

bool is_data_file(std::string_view path) { return format_of(path).has_value(); }

std::vector<Source> look_up_sources(const std::vector<std::string>& paths) {
  std::vector<Source> out;
  out.reserve(paths.size());
  for (const auto& path : paths) {
    file_format(path);
    const auto info = files().info(path);
    if (!info) fail(ErrorKind::NotFound, "data files: {} does not exist", path);
    if (info->is_directory) {
      fail(ErrorKind::InvalidArgument, "data files: {} is a directory where a file is expected", path);
    }
    if (info->is_device) {
      fail(
          ErrorKind::InvalidArgument,
          "data files: {} is a pipe, a socket or a device where a file is expected\nhint: copy what it gives "
          "into a file first",
          path);
    }
    refuse_lfs_pointer(path);
    out.push_back({path, info->size, info->modified});
  }
  return out;
}

}  // namespace bora::store
