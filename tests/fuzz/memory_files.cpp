// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "memory_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bora::fuzz {
namespace {

class MemoryFile final : public ReadFile {
 public:
  explicit MemoryFile(std::string_view content) : content_(content) {}
  std::uint64_t size() const override { return content_.size(); }
  FileInfo info() const override { return {.size = content_.size()}; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= content_.size()) return 0;
    const std::size_t n =
        std::min<std::size_t>(out.size(), content_.size() - static_cast<std::size_t>(offset));
    if (n > 0) std::memcpy(out.data(), content_.data() + offset, n);
    return n;
  }
  std::span<const std::byte> map() const override { return as_bytes(content_); }

 private:
  std::string_view content_;
};

[[noreturn]] void refuse(const std::string& path) { fail_file(path, "write", EROFS); }

}  // namespace

std::unique_ptr<ReadFile> MemoryFiles::open(const std::string& path) {
  const auto at = contents_.find(path);
  if (at == contents_.end()) fail_file(path, "open", ENOENT);
  return std::make_unique<MemoryFile>(at->second);
}

std::optional<FileInfo> MemoryFiles::info(const std::string& path) {
  if (const auto at = contents_.find(path); at != contents_.end()) return FileInfo{false, at->second.size()};
  const auto below = contents_.lower_bound(path + "/");
  if (below != contents_.end() && below->first.starts_with(path + "/")) return FileInfo{true};
  return {};
}

std::vector<std::string> MemoryFiles::list(const std::string& directory) {
  std::vector<std::string> names;
  const std::string prefix = directory + "/";
  for (auto it = contents_.lower_bound(prefix); it != contents_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string name =
        it->first.substr(prefix.size(), it->first.find('/', prefix.size()) - prefix.size());
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::unique_ptr<WriteFile> MemoryFiles::create(const std::string& path, Access /*access*/) { refuse(path); }
std::unique_ptr<WriteFile> MemoryFiles::append(const std::string& path, Access /*access*/) { refuse(path); }
void MemoryFiles::make_directories(const std::string& path) { refuse(path); }
void MemoryFiles::rename(const std::string& from, const std::string&) { refuse(from); }
void MemoryFiles::remove(const std::string& path) { refuse(path); }
void MemoryFiles::truncate(const std::string& path, std::uint64_t) { refuse(path); }
void MemoryFiles::sync_directory(const std::string& path) { refuse(path); }
std::uint64_t MemoryFiles::free_space(const std::string&) { return 0; }
std::unique_ptr<FileLock> MemoryFiles::try_lock(const std::string& path) { refuse(path); }

}  // namespace bora::fuzz
