// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/file.h"

#include <fmt/core.h>

#include <cerrno>
#include <system_error>

#include "bora/base/error.h"
#include "bora/base/posix_files.h"
#include "bora/base/temporary_file.h"

namespace bora {
namespace {

FileSystem* g_files = nullptr;

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

void fail_file(std::string_view path, std::string_view action, int error_number) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  const auto* next = error_number == ENOMEM ? "\nhint: fewer programs at once, or a larger ulimit -v" : "";
  fail(missing ? ErrorKind::NotFound : ErrorKind::Io, "{}: cannot {}: {}{}", without_temporary_names(path),
       without_temporary_names(action), std::generic_category().message(error_number), next);
}

FileSystem& files() {
  static auto* posix = new PosixFileSystem;  // never destroyed: threads may write until the very end
  return g_files != nullptr ? *g_files : *posix;
}

ScopedFileSystem::ScopedFileSystem(FileSystem& other) : before_(std::exchange(g_files, &other)) {}
ScopedFileSystem::~ScopedFileSystem() { g_files = before_; }

bool exists(const std::string& path) { return files().info(path).has_value(); }

std::string read_text(const std::string& path) {
  const auto file = files().open(path);
  // One byte more than it should hold, so that a file that grows (or one in /proc, of size 0) is read to its
  // end.
  std::string text(file->size() + 1, '\0');
  std::size_t done = 0;
  while (const std::size_t n =
             file->read_at(done, {reinterpret_cast<std::byte*>(text.data()) + done, text.size() - done})) {
    done += n;
    if (done == text.size()) text.resize(2 * text.size() + 4096);
  }
  text.resize(done);
  return text;
}

void write_atomically(const std::string& path, std::string_view content, Access access) {
  const std::string temporary = temporary_beside(path);
  try {
    const auto file = files().create(temporary, access);
    file->write(as_bytes(content));
    file->sync();
    file->close();
    files().rename(temporary, path);
  } catch (...) {
    remove_unfinished(temporary);
    throw;
  }
  files().sync_directory(parent_path(path));
}

void remove_all(const std::string& path) {
  try {
    // First as it is: a link to a directory must go, not what it points to.
    files().remove(path);
    return;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::NotFound) return;
    const auto info = files().info(path);
    if (!info || !info->is_directory) throw;
  }
  for (const auto& name : files().list(path)) remove_all(path_join(path, name));
  files().remove(path);
}

std::string path_join(std::string_view a, std::string_view b) {
  if (a.empty() || b.starts_with('/')) return std::string(b);
  if (b.empty()) return std::string(a);
  return fmt::format("{}{}{}", a, a.ends_with('/') ? "" : "/", b);
}

std::string parent_path(std::string_view path) {
  path = without_trailing_slashes(path);
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(without_trailing_slashes(path.substr(0, std::max<std::size_t>(slash, 1))));
}

std::string base_name(std::string_view path) {
  path = without_trailing_slashes(path);
  if (path == "/") return "/";
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace bora
