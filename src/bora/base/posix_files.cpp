// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/posix_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/map_guard.h"

namespace bora {
namespace {

// Repeats a system call that a signal interrupted.
template <class Call>
auto retried(Call&& call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

template <class Call>
auto checked(const std::string& path, std::string_view action, Call&& call) {
  const auto result = retried(std::forward<Call>(call));
  if (result < 0) fail_file(path, action, errno);
  return result;
}

class Descriptor {
 public:
  Descriptor(const std::string& path, std::string_view action, int flags, Access access = Access::Umask)
      : value_(checked(path, action, [&] {
          return ::open(path.c_str(), flags | O_CLOEXEC, access == Access::Owner ? 0600 : 0666);
        })) {}
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  // Never repeated: on Linux the descriptor is gone even when close() reports EINTR.
  int close() { return value_ < 0 ? 0 : ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

struct stat status(const Descriptor& file, const std::string& path) {
  struct stat out {};
  checked(path, "stat", [&] { return ::fstat(file.get(), &out); });
  return out;
}

double seconds(const timespec& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

FileInfo info_of(const struct stat& status) {
  const bool directory = S_ISDIR(status.st_mode);
  return {.is_directory = directory,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified = seconds(status.st_mtim),
          .is_device = !directory && !S_ISREG(status.st_mode),
          .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
          .device = static_cast<std::uint64_t>(status.st_dev),
          .inode = static_cast<std::uint64_t>(status.st_ino)};
}

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_file(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) fail_file(path, "open", EISDIR);
  fail(ErrorKind::Unsupported, "{}: is {}, not a file\nhint: copy what it gives into a file first", path,
       kind_of(status.st_mode));
}

// Looked at before it is opened too: opening a pipe waits for a writer, and some devices act.
const std::string& file_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) require_file(status, path);
  return path;
}

// Once mapped, a file needs its descriptor no more: a data set of thousands of shards would hold them all.
class PosixReadFile : public ReadFile {
 public:
  explicit PosixReadFile(const std::string& path)
      : path_(path), file_(file_at(path), "open", O_RDONLY | O_NONBLOCK | O_NOCTTY) {
    const struct stat now = status(file_, path_);
    require_file(now, path_);
    info_ = info_of(now);
  }
  ~PosixReadFile() override {
    guard_.reset();
    if (mapped_ && !mapped_->empty()) ::munmap(const_cast<std::byte*>(mapped_->data()), mapped_->size());
  }

  std::uint64_t size() const override {
    const std::shared_lock lock(mutex_);
    return mapped_ ? mapped_->size() : static_cast<std::uint64_t>(status(file_, path_).st_size);
  }

  FileInfo info() const override { return info_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::shared_lock lock(mutex_);
    if (mapped_) return copy_mapped(*mapped_, offset, out);
    std::size_t done = 0;
    while (done < out.size()) {
      const auto n = checked(path_, "read", [&] {
        return ::pread(file_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      });
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  std::span<const std::byte> map() const override {
    const std::unique_lock lock(mutex_);
    if (mapped_) return *mapped_;
    std::span<const std::byte> all;
    if (const auto bytes = static_cast<std::size_t>(status(file_, path_).st_size); bytes > 0) {
      void* start = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file_.get(), 0);
      if (start == MAP_FAILED) fail_file(path_, "map", errno);
      all = {static_cast<const std::byte*>(start), bytes};
      guard_.emplace(path_, all);
    }
    file_.close();
    mapped_ = all;
    return all;
  }

  // By its name, since no descriptor is held: another file of that name says nothing of this one.
  void refuse_shorter() const override {
    const std::shared_lock lock(mutex_);
    if (mapped_) refuse_shorter_than(mapped_->size());
  }

  void forget(std::span<const std::byte> part) const override {
    if (part.empty()) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto before = reinterpret_cast<std::uintptr_t>(part.data()) % page;
    ::madvise(const_cast<std::byte*>(part.data()) - before, before + part.size(), MADV_DONTNEED);
  }

 private:
  std::size_t copy_mapped(std::span<const std::byte> all, std::uint64_t offset,
                          std::span<std::byte> out) const {
    const auto rest = all.subspan(std::min<std::uint64_t>(offset, all.size()));
    const std::size_t n = std::min(rest.size(), out.size());
    if (n == 0) return 0;
    read_mapped([&] { std::memcpy(out.data(), rest.data(), n); });
    refuse_shorter_than(all.size());
    return n;
  }

  void refuse_shorter_than(std::uint64_t mapped) const {
    struct stat now {};
    if (::stat(path_.c_str(), &now) != 0) return;
    const FileInfo there = info_of(now);
    if (there.same_file(info_) && there.size < mapped) fail_unreadable_map(path_, there.size, mapped);
  }

  std::string path_;
  mutable std::shared_mutex mutex_;  // of what follows
  mutable Descriptor file_;
  FileInfo info_;
  mutable std::optional<std::span<const std::byte>> mapped_;
  mutable std::optional<MapGuard> guard_;
};

class PosixWriteFile : public WriteFile {
 public:
  PosixWriteFile(const std::string& path, std::string_view action, int flags, Access access)
      : path_(path), file_(path, action, O_WRONLY | O_CREAT | flags, access) {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto n =
          checked(path_, "write", [&] { return ::write(descriptor(), bytes.data(), bytes.size()); });
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  void sync() override {
    checked(path_, "sync", [&] { return ::fsync(descriptor()); });
  }
  void close() override {
    if (file_.close() < 0 && errno != EINTR) fail_file(path_, "close", errno);
  }

 private:
  int descriptor() const {
    if (!file_.is_open()) fail_file(path_, "write", EBADF);
    return file_.get();
  }

  std::string path_;
  Descriptor file_;
};

class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(const std::string& path) : path_(path), file_(path, "lock", O_RDWR | O_CREAT) {}
  bool try_take() {
    if (retried([&] { return ::flock(file_.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
    if (errno != EWOULDBLOCK) fail_file(path_, "lock", errno);
    return false;
  }

 private:
  std::string path_;
  Descriptor file_;
};

}  // namespace

std::unique_ptr<ReadFile> PosixFileSystem::open(const std::string& path) {
  return std::make_unique<PosixReadFile>(path);
}
std::unique_ptr<WriteFile> PosixFileSystem::create(const std::string& path, Access access) {
  return std::make_unique<PosixWriteFile>(path, "create", O_TRUNC, access);
}
std::unique_ptr<WriteFile> PosixFileSystem::append(const std::string& path, Access access) {
  return std::make_unique<PosixWriteFile>(path, "append to", O_APPEND, access);
}

std::optional<FileInfo> PosixFileSystem::info(const std::string& path) {
  struct stat out {};
  if (retried([&] { return ::stat(path.c_str(), &out); }) < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail_file(path, "stat", errno);
  }
  return info_of(out);
}

std::vector<std::string> PosixFileSystem::list(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) fail_file(directory, "list", errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) fail_file(directory, "list", errno);
  std::sort(names.begin(), names.end());
  return names;
}

void PosixFileSystem::make_directories(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (part.empty()) continue;
    if (retried([&] { return ::mkdir(part.c_str(), 0777); }) == 0) {
      sync_directory(parent_path(part));  // what is written into it would be lost with its name
      continue;
    }
    const int error = errno;
    // Some file systems answer EROFS or EACCES for a directory that is already there.
    const auto existing = info(part);
    if (!existing) fail_file(part, "make directory", error);
    if (!existing->is_directory) fail_file(part, "make directory", ENOTDIR);
  }
}

void PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) < 0) {
    fail_file(from, fmt::format("rename to {}", to), errno);
  }
}

bool PosixFileSystem::exchange(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  fail_file(a, fmt::format("exchange with {}", b), errno);
}

void PosixFileSystem::link(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) < 0) fail_file(path, "link", errno);
}

void PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return;
  if (errno == EISDIR || errno == EPERM) {
    if (::rmdir(path.c_str()) == 0) return;
  }
  fail_file(path, "remove", errno);
}

void PosixFileSystem::truncate(const std::string& path, std::uint64_t size) {
  checked(path, "truncate", [&] { return ::truncate(path.c_str(), static_cast<off_t>(size)); });
}

void PosixFileSystem::sync_directory(const std::string& path) {
  const int opened = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  // One may be allowed to make files in a directory that one may not read: there is nothing to be done.
  if (opened < 0 && errno == EACCES) return;
  if (opened < 0) fail_file(path, "sync directory", errno);
  const Descriptor directory(opened);
  // EINVAL: a file system without this notion; there is nothing more to do.
  if (retried([&] { return ::fsync(directory.get()); }) < 0 && errno != EINVAL) {
    fail_file(path, "sync directory", errno);
  }
}

std::uint64_t PosixFileSystem::free_space(const std::string& path) {
  struct statvfs out {};
  checked(path, "stat", [&] { return ::statvfs(path.c_str(), &out); });
  return static_cast<std::uint64_t>(out.f_bavail) * out.f_frsize;
}

std::unique_ptr<FileLock> PosixFileSystem::try_lock(const std::string& path) {
  auto lock = std::make_unique<PosixFileLock>(path);
  return lock->try_take() ? std::move(lock) : nullptr;
}

}  // namespace bora
