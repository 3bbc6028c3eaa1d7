// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// S3 and Google Cloud Storage through Arrow's file systems. The wheel has S3 in a library of its own, with
// the whole AWS SDK in it: it is loaded with the first s3:// URL.
#include "buckets.h"

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <span>

#include "bora/base/error.h"
#include "bora/store/bucket_words.h"
#include "bora/store/unreached.h"

namespace bora::arrow_files {
namespace {

constexpr std::int64_t kPiece = 8 << 20;
constexpr std::string_view kPatience = "retry_limit_seconds";

/// Google's client tries for a quarter of an hour unless it is told otherwise.
std::string with_patience(const std::string& store) {
  if (!store.starts_with("gs:") || store.find(kPatience) != std::string::npos) return store;
  return fmt::format("{}{}{}=60", store, store.find('?') == std::string::npos ? '?' : '&', kPatience);
}

std::string first_line(const arrow::Status& status) { return store::bucket_words(status.message()); }

template <class T>
T value_of(const std::string& name, arrow::Result<T> result) {
  const auto& status = result.status();
  if (status.ok()) return std::move(result).ValueUnsafe();
  if (arrow::internal::ErrnoFromStatus(status) == ENOENT)
    fail(ErrorKind::NotFound, "{}: {}", name, first_line(status));
  if (store::is_unreached(status.message()))
    throw store::Unreached(fmt::format("{}: {}", name, first_line(status)));
  if (status.IsIOError()) fail(ErrorKind::Io, "{}: {}", name, first_line(status));
  fail(ErrorKind::Config, "{}: {}", name, first_line(status));
}

/// Beside the library that this program has loaded already.
std::string s3_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&arrow::fs::EnsureFinalized), &info) == 0) return "libarrow_s3.so";
  const std::string arrow = info.dli_fname, name = "libarrow.so";
  const auto at = arrow.rfind(name);
  if (at == std::string::npos) return "libarrow_s3.so";
  return arrow.substr(0, at) + "libarrow_s3.so" + arrow.substr(at + name.size());
}

/// What has threads must end before its library does: at exit, and, as that goes backwards, after everything
/// that the first use has made.
void finalize_at_exit() {
  static const int registered = std::atexit([] { arrow::fs::EnsureFinalized(); });
  (void)registered;
}

void load_s3() {
  static const arrow::Status loaded = arrow::fs::LoadFileSystemFactories(s3_library().c_str());
  if (!loaded.ok()) {
    fail(ErrorKind::Unsupported, "{}: {}\nhint: scripts/setup.sh --arrow, then build again", s3_library(),
         first_line(loaded));
  }
}

class Bucket final : public store::ObjectStore {
 public:
  explicit Bucket(std::string name) : name_(std::move(name)) {
    if (name_.starts_with("s3:")) load_s3();
    std::string path;
    auto opened = arrow::fs::FileSystemFromUri(with_patience(name_), &path);
    finalize_at_exit();
    file_system_ = value_of(name_, std::move(opened));
  }

  std::optional<store::RemoteObject> look_up(const std::string& path) override {
    const auto info = value_of(name_, file_system_->GetFileInfo(path));
    if (!info.IsFile()) return {};
    return object(info);
  }

  std::vector<store::RemoteObject> list(const std::string& folder) override {
    arrow::fs::FileSelector selector;
    selector.base_dir = folder;
    selector.allow_not_found = true;
    selector.recursive = true;
    std::vector<store::RemoteObject> out;
    for (const auto& info : value_of(name_, file_system_->GetFileInfo(selector))) {
      if (info.IsFile()) out.push_back(object(info));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return out;
  }

  void read(const store::RemoteObject& from, std::uint64_t begin, const Take& take) override {
    arrow::fs::FileInfo info(from.path, arrow::fs::FileType::File);
    info.set_size(from.size);
    const auto file = value_of(name_, file_system_->OpenInputFile(info));
    for (auto at = static_cast<std::int64_t>(begin); at < from.size;) {
      const auto piece = value_of(name_, file->ReadAt(at, std::min(kPiece, from.size - at)));
      if (piece->size() == 0) fail(ErrorKind::Io, "{}: {} ended at byte {}", name_, from.path, at);
      take(std::as_bytes(std::span(piece->data(), static_cast<std::size_t>(piece->size()))));
      at += piece->size();
    }
  }

 private:
  static store::RemoteObject object(const arrow::fs::FileInfo& info) {
    return {info.path(), info.size(), info.mtime().time_since_epoch().count()};
  }

  std::string name_;
  std::shared_ptr<arrow::fs::FileSystem> file_system_;
};

}  // namespace

std::unique_ptr<store::ObjectStore> open_bucket(const std::string& store) {
  return std::make_unique<Bucket>(store);
}

}  // namespace bora::arrow_files
