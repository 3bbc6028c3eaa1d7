// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/fault_files.h"

#include <fmt/core.h>

namespace bora {
namespace {

bool changes_the_disk(FileOperation operation) {
  switch (operation) {
    case FileOperation::Open:
    case FileOperation::Read:
    case FileOperation::List:
    case FileOperation::Lock:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string_view name_of(FileOperation operation) {
  switch (operation) {
    case FileOperation::Open:
      return "open";
    case FileOperation::Create:
      return "create";
    case FileOperation::Append:
      return "append to";
    case FileOperation::Read:
      return "read";
    case FileOperation::Write:
      return "write";
    case FileOperation::Sync:
      return "sync";
    case FileOperation::Close:
      return "close";
    case FileOperation::List:
      return "list";
    case FileOperation::MakeDirectories:
      return "make directory";
    case FileOperation::Rename:
      return "rename";
    case FileOperation::Remove:
      return "remove";
    case FileOperation::Truncate:
      return "truncate";
    case FileOperation::SyncDirectory:
      return "sync directory";
    case FileOperation::Lock:
      return "lock";
    case FileOperation::Link:
      return "link";
  }
  return "?";
}

class FaultReadFile : public ReadFile {
 public:
  FaultReadFile(FaultFiles& files, std::string path, std::unique_ptr<ReadFile> inner)
      : files_(files), path_(std::move(path)), inner_(std::move(inner)) {}
  std::uint64_t size() const override { return inner_->size(); }
  FileInfo info() const override { return inner_->info(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    files_.step(FileOperation::Read, path_);
    return inner_->read_at(offset, out);
  }
  std::span<const std::byte> map() const override {
    files_.step(FileOperation::Read, path_);
    return inner_->map();
  }
  void refuse_shorter() const override { inner_->refuse_shorter(); }
  void forget(std::span<const std::byte> part) const override { inner_->forget(part); }

 private:
  FaultFiles& files_;
  std::string path_;
  std::unique_ptr<ReadFile> inner_;
};

class FaultWriteFile : public WriteFile {
 public:
  FaultWriteFile(FaultFiles& files, std::string path, std::unique_ptr<WriteFile> inner)
      : files_(files), path_(std::move(path)), inner_(std::move(inner)) {}
  void write(std::span<const std::byte> bytes) override {
    if (files_.breaks(FileOperation::Write, path_)) {
      if (files_.fault_.short_write) inner_->write(bytes.first(bytes.size() / 2));
      files_.throw_fault(FileOperation::Write, path_);
    }
    inner_->write(bytes);
  }
  void sync() override {
    files_.step(FileOperation::Sync, path_);
    inner_->sync();
  }
  void close() override {
    files_.step(FileOperation::Close, path_);
    inner_->close();
  }

 private:
  FaultFiles& files_;
  std::string path_;
  std::unique_ptr<WriteFile> inner_;
};

std::int64_t FaultFiles::count(FileOperation operation) const {
  return counts_[static_cast<std::size_t>(operation)];
}

std::string FaultFiles::fired_at() const { return fired_ ? fired_at_ : ""; }

bool FaultFiles::breaks(FileOperation operation, const std::string& path) {
  ++counts_[static_cast<std::size_t>(operation)];
  const bool counts =
      fault_.operations.empty() ? changes_the_disk(operation) : fault_.operations.contains(operation);
  if (!counts) return false;
  const std::int64_t n = ++counted_;
  if (n != fault_.nth) return fault_.stays_broken && fault_.nth > 0 && n > fault_.nth;
  fired_at_ = fmt::format("{} {}", name_of(operation), path);
  fired_ = true;
  return true;
}

void FaultFiles::step(FileOperation operation, const std::string& path) {
  if (breaks(operation, path)) throw_fault(operation, path);
}

void FaultFiles::throw_fault(FileOperation operation, const std::string& path) const {
  fail_file(path, name_of(operation), fault_.error_number);
}

std::unique_ptr<ReadFile> FaultFiles::open(const std::string& path) {
  step(FileOperation::Open, path);
  return std::make_unique<FaultReadFile>(*this, path, inner_.open(path));
}
std::unique_ptr<WriteFile> FaultFiles::create(const std::string& path, Access access) {
  step(FileOperation::Create, path);
  return std::make_unique<FaultWriteFile>(*this, path, inner_.create(path, access));
}
std::unique_ptr<WriteFile> FaultFiles::append(const std::string& path, Access access) {
  step(FileOperation::Append, path);
  return std::make_unique<FaultWriteFile>(*this, path, inner_.append(path, access));
}
std::optional<FileInfo> FaultFiles::info(const std::string& path) { return inner_.info(path); }
std::vector<std::string> FaultFiles::list(const std::string& directory) {
  step(FileOperation::List, directory);
  return inner_.list(directory);
}
void FaultFiles::make_directories(const std::string& path) {
  step(FileOperation::MakeDirectories, path);
  inner_.make_directories(path);
}
void FaultFiles::rename(const std::string& from, const std::string& to) {
  step(FileOperation::Rename, from);
  inner_.rename(from, to);
}
bool FaultFiles::exchange(const std::string& a, const std::string& b) {
  step(FileOperation::Rename, a);
  auto* able = dynamic_cast<ExchangingFiles*>(&inner_);
  return able != nullptr && able->exchange(a, b);
}
void FaultFiles::link(const std::string& target, const std::string& path) {
  step(FileOperation::Link, path);
  auto* able = dynamic_cast<LinkingFiles*>(&inner_);
  if (able == nullptr) fail_file(path, name_of(FileOperation::Link), ENOTSUP);
  able->link(target, path);
}
void FaultFiles::remove(const std::string& path) {
  step(FileOperation::Remove, path);
  inner_.remove(path);
}
void FaultFiles::truncate(const std::string& path, std::uint64_t size) {
  step(FileOperation::Truncate, path);
  inner_.truncate(path, size);
}
void FaultFiles::sync_directory(const std::string& path) {
  step(FileOperation::SyncDirectory, path);
  inner_.sync_directory(path);
}
std::uint64_t FaultFiles::free_space(const std::string& path) { return inner_.free_space(path); }
std::unique_ptr<FileLock> FaultFiles::try_lock(const std::string& path) {
  step(FileOperation::Lock, path);
  return inner_.try_lock(path);
}

}  // namespace bora
