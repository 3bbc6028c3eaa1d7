// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/key.h"
#include "bora/base/posix_files.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/core/create.h"

/// What the tests of this folder share; not part of the library.
namespace bora::checkpoint::test {

/// The system's files without fsync: the tests write hundreds of checkpoints, and a busy disk would make them
/// slow.
class UnsyncedFiles : public PosixFileSystem {
 public:
  std::unique_ptr<WriteFile> create(const std::string& path, Access access) override {
    class Unsynced : public WriteFile {
     public:
      explicit Unsynced(std::unique_ptr<WriteFile> inner) : inner_(std::move(inner)) {}
      void write(std::span<const std::byte> bytes) override { inner_->write(bytes); }
      void sync() override {}
      void close() override { inner_->close(); }

     private:
      std::unique_ptr<WriteFile> inner_;
    };
    return std::make_unique<Unsynced>(PosixFileSystem::create(path, access));
  }
  void sync_directory(const std::string&) override {}
};

/// A directory of this test alone, removed at its end. While there is one, nothing is fsynced.
class Folder {
 public:
  Folder() : scope_(unsynced_) {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = path_join(testing::TempDir(), "bora_" + flat(info->test_suite_name()) + "_" + flat(info->name()) +
                                              "_" + std::to_string(++count_));
    remove_all(path_);
    files().make_directories(path_);
  }
  ~Folder() { remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_join(path_, name); }
  const std::string& path() const { return path_; }

 private:
  static std::string flat(std::string name) {  // parameterized tests have slashes in their names
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }
  static inline int count_ = 0;
  UnsyncedFiles unsynced_;
  ScopedFileSystem scope_;
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view content) {
  const auto file = files().create(path);
  if (!content.empty()) file->write(as_bytes(content));
  file->close();
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

template <class F>
ErrorKind kind_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::Usage;
}

/// A small run: parameters and optimizer state that depend on `seed` alone.
struct TinyRun {
  explicit TinyRun(std::uint64_t seed, std::int64_t width = 40) {
    const std::int64_t weight[] = {8, width}, bias[] = {8};
    const std::string_view weight_axes[] = {"mlp", "embed"}, bias_axes[] = {"mlp"};
    add("layers.0.up.weight", seed, {weight_axes, weight});
    add("layers.0.up.bias", seed + 1, {bias_axes, bias});
    add("mu/layers.0.up.weight", seed + 2, {weight_axes, weight});
    add("mu/layers.0.up.bias", seed + 3, {bias_axes, bias});
  }
  std::vector<CheckpointArray> parameters() const { return {arrays.begin(), arrays.begin() + 2}; }
  std::vector<CheckpointArray> optimizer() const { return {arrays.begin() + 2, arrays.end()}; }
  CheckpointContent content(std::int64_t step, bool temporary = false) const {
    return {.step = step,
            .lanes = 4,
            .config_hash = "c0ffee",
            .temporary = temporary,
            .parameters = parameters(),
            .optimizer = optimizer(),
            .state = Json{{"loader", step * 7}, {"step", step}}};
  }
  bool equals(const TinyRun& other) const {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto a = arrays[i].array.to_vector<float>(), b = other.arrays[i].array.to_vector<float>();
      if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0)
        return false;
    }
    return true;
  }
  void add(std::string path, std::uint64_t seed, const core::Shape& shape) {
    arrays.push_back({std::move(path),
                      {shape.names.begin(), shape.names.end()},
                      core::random_normal(Key::from_seed(seed), shape)});
  }
  std::vector<CheckpointArray> arrays;
};

}  // namespace bora::checkpoint::test
