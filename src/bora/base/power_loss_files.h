// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bora/base/exchange.h"
#include "bora/base/file.h"
#include "bora/base/key.h"
#include "bora/base/link.h"

namespace bora {

/// A disk for tests, in memory, of which the power can go. What was written and not fsynced may be there after
/// it, or not, or in part, or as zeros, and in any order; so may names that were made, changed or removed in a
/// directory that was not fsynced.
///
///     PowerLossFiles disk;
///     { ScopedFileSystem scope(disk); save(path); }
///     for (std::uint64_t n = 0; n < 1000; ++n) {
///       const auto after = disk.after_power_loss(draw(disk.operations() + 1), Key::from_seed(n));
///       ScopedFileSystem scope(*after);
///       ...                                       // what must hold: old or new, never mixed
///     }
///
/// Only the targets of links may have "..". One thread at a time.
class PowerLossFiles final : public FileSystem, public ExchangingFiles, public LinkingFiles {
 public:
  explicit PowerLossFiles(bool can_exchange = true) : can_exchange_(can_exchange) { nodes_[0] = {}; }

  /// Operations so far that change something, or make something durable.
  std::size_t operations() const { return log_.size(); }
  /// The disk as a start finds it, where the power went after the first `operations`; what else is up to the
  /// kernel follows from `luck`. Everything there is durable, and its log is empty.
  std::unique_ptr<PowerLossFiles> after_power_loss(std::size_t operations, Key luck) const;

  std::unique_ptr<ReadFile> open(const std::string& path) override;
  std::unique_ptr<WriteFile> create(const std::string& path, Access access = Access::Umask) override;
  std::unique_ptr<WriteFile> append(const std::string& path, Access access = Access::Umask) override;
  std::optional<FileInfo> info(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  bool exchange(const std::string& a, const std::string& b) override;
  void link(const std::string& target, const std::string& path) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, std::uint64_t size) override;
  void sync_directory(const std::string& path) override;
  std::uint64_t free_space(const std::string&) override { return std::uint64_t{1} << 40; }
  std::unique_ptr<FileLock> try_lock(const std::string& path) override;

 private:
  friend class VolatileFile;
  using Id = std::uint64_t;  // of a file or directory, whatever it is called; 0: the root
  struct Node {
    bool is_directory = true;
    std::string content;
    std::map<std::string, Id> names;  // of a directory
    std::string target;               // of a link
  };
  struct Data {
    Id file;
    std::uint64_t offset;
    std::string bytes;
  };
  struct Resize {
    Id file;
    std::uint64_t size;
  };
  /// Names of directories that change together: what each is the name of from then on, 0 for nothing.
  struct Names {
    struct Change {
      Id directory;
      std::string name;
      Id now;
    };
    std::vector<Change> changes;
  };
  struct Sync {
    Id what;
  };
  using Operation = std::variant<Data, Resize, Names, Sync>;

  struct Place {
    Id directory;
    std::string name;
  };
  enum class Links { Follow, KeepLast };
  // 0 for the root, and kNone.
  Id find(std::string_view path, bool must = true, Links links = Links::Follow) const;
  Place place_of(const std::string& path) const;
  Id make(bool is_directory);
  void change(Names names);
  void write(Id file, std::span<const std::byte> bytes);
  void apply(const Operation& operation);
  bool is_durable(std::size_t at, std::size_t end) const;

  static constexpr Id kNone = ~Id{0};
  bool can_exchange_;
  std::map<Id, Node> nodes_;
  Id next_ = 1;
  std::vector<Operation> log_;
};

}  // namespace bora
