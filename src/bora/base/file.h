// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora {

struct FileInfo {
  bool is_directory = false;
  std::uint64_t size = 0;
  double modified = 0;                  ///< seconds since the epoch
  bool is_device = false;               ///< neither directory nor file: a terminal, a pipe, /dev/null
  std::int64_t modified_ns = 0;         ///< `modified` to the nanosecond
  std::uint64_t device = 0, inode = 0;  ///< which file it is, whatever its name is
  bool same_file(const FileInfo& other) const {
    return inode != 0 && device == other.device && inode == other.inode;
  }
};

/// A file opened for reading. Any number of threads may call read_at.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  virtual std::uint64_t size() const = 0;
  /// As it was when it was opened.
  virtual FileInfo info() const = 0;
  /// Reads up to out.size() bytes at `offset`; returns how many (fewer only at the end of the file).
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// The whole file mapped read-only; lives as long as this object. Empty span for an empty file. From then
  /// on the size stays as it is, read_at reads the map, and no descriptor is held. Where a part of the map
  /// cannot be had any more, because the file became shorter or its disk fails, the process ends with a
  /// message that names the file and exit code 3; inside of read_mapped (map_guard.h) it is an error.
  virtual std::span<const std::byte> map() const = 0;
  /// A file that became shorter ends inside a page of its map, whose rest reads as zeros: whoever has read of
  /// a map asks here whether that was the file. Errors: Corruption if it is shorter now.
  virtual void refuse_shorter() const {}
  /// The pages of this part of the map need not stay in memory; reading them again brings them back.
  virtual void forget(std::span<const std::byte> /*part*/) const {}
};

/// A file opened for writing, one thread at a time. Closing without close() loses errors: call it.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void sync() = 0;  ///< fsync
  virtual void close() = 0;
};

/// An exclusive advisory lock on a file; released on destruction or when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// Who may read a file that is made.
enum class Access {
  Umask,  ///< whom the umask lets
  Owner,  ///< nobody else: what tells where somebody's data lies
};

/// Every file operation of Bora goes through this interface, so that tests can break disks.
/// Errors carry the path and errno's text: NotFound for a missing path, Io for the rest.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Of a file alone. Errors: Unsupported, at once, for a pipe, a socket or a device, which have no end, or
  /// wait for somebody.
  virtual std::unique_ptr<ReadFile> open(const std::string& path) = 0;
  // A file that is there already keeps its mode.
  virtual std::unique_ptr<WriteFile> create(const std::string& path,
                                            Access access = Access::Umask) = 0;  ///< truncates
  virtual std::unique_ptr<WriteFile> append(const std::string& path, Access access = Access::Umask) = 0;
  virtual std::optional<FileInfo> info(const std::string& path) = 0;  ///< nothing if it does not exist
  virtual std::vector<std::string> list(
      const std::string& directory) = 0;                       ///< names, sorted; not "." and ".."
  virtual void make_directories(const std::string& path) = 0;  ///< like mkdir -p
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& path) = 0;  ///< a file or an empty directory
  virtual void truncate(const std::string& path, std::uint64_t size) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  virtual std::uint64_t free_space(const std::string& path) = 0;
  /// Nothing if another process holds it.
  virtual std::unique_ptr<FileLock> try_lock(const std::string& path) = 0;
};

/// The file system in use: the operating system's, unless a test has put another in its place.
FileSystem& files();

/// Puts `other` in place of files() while it lives. Not for concurrent use.
class ScopedFileSystem {
 public:
  explicit ScopedFileSystem(FileSystem& other);
  ~ScopedFileSystem();
  ScopedFileSystem(const ScopedFileSystem&) = delete;
  ScopedFileSystem& operator=(const ScopedFileSystem&) = delete;

 private:
  FileSystem* before_;
};

/// Throws "path: cannot <action>: <errno's text>": NotFound for a missing path, Io for the rest.
[[noreturn]] void fail_file(std::string_view path, std::string_view action, int error_number);

// Conveniences over files().
bool exists(const std::string& path);
std::string read_text(const std::string& path);
/// Temporary file beside `path`, fsync, rename, fsync of the directory: old or new content, never a mixture.
void write_atomically(const std::string& path, std::string_view content, Access access = Access::Umask);
void remove_all(const std::string& path);  ///< no error if it does not exist
std::string path_join(std::string_view a, std::string_view b);
std::string parent_path(std::string_view path);  ///< "." for a bare name
std::string base_name(std::string_view path);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace bora
