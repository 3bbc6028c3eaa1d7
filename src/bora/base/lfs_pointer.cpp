// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
//   pointer := "version https://git-lfs.github.com/spec/v1\n" line*     at most 1024 bytes
//   line    := "oid sha256:" digits "\n" | "size " digits "\n" | ...
#include "bora/base/lfs_pointer.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"

namespace bora {
namespace {

constexpr std::uint64_t kLargest = 1024;
constexpr std::string_view kStart = "version https://git-lfs.github.com/spec/", kSizeWord = "size ";

}  // namespace

void refuse_lfs_pointer(const std::string& path) {
  const auto info = files().info(path);
  if (!info || info->is_directory || info->size > kLargest || info->size < kStart.size()) return;
  const std::string text = read_text(path);
  if (!text.starts_with(kStart)) return;
  std::string size = "unknown";
  for (const auto& line : split(text, '\n')) {
    if (line.starts_with(kSizeWord)) size = line.substr(kSizeWord.size());
  }
  fail(ErrorKind::NotFound,
       "{}: only stands for a file of {} bytes that Git LFS has not fetched\nhint: git lfs pull in {}", path,
       size, parent_path(path));
}

}  // namespace bora
