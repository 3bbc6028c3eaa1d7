// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/debian_text.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/byte_stream.h"

namespace bora::run {
namespace {

constexpr std::string_view kScheme = "deb:";

struct Parts {
  std::string package, path;
};

Parts parse(const std::string& url) {
  auto rest = url.substr(kScheme.size());
  auto slash = rest.find('/');
  bool plain = slash != std::string::npos && slash > 0 && rest.find("..") == std::string::npos;
  for (char c : rest.substr(0, slash))
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.');
  if (!plain) fail(ErrorKind::Config, "{}: should be deb:PACKAGE/path/in/package", url);
  return {rest.substr(0, slash), rest.substr(slash)};
}

// Runs a program in `directory`, its output in `log` there; returns its exit code.
int run(const std::vector<std::string>& command, const std::string& directory) {
  auto pid = ::fork();
  if (pid == 0) {
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    if (std::freopen("log", "a", stdout) == nullptr || ::dup2(::fileno(stdout), STDERR_FILENO) < 0)
      ::_exit(126);
    std::vector<char*> argv;
    for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Copies a text, each invalid byte dropped: old dictionaries hold a few stray Latin-1 characters.
void copy_clean(const std::string& from, const std::string& to) {
  bool gzip = from.ends_with(".gz") || from.ends_with(".dz");
  auto stream = store::open_stream(from, gzip ? store::Compression::Gzip : store::Compression::None, 0,
                                   files().info(from)->size);
  std::string text, buffer(1 << 20, '\0');
  while (auto n = stream->read(buffer)) text.append(buffer, 0, n);
  std::string clean;
  std::string_view rest = text;
  while (auto bad = invalid_utf8(rest)) {
    clean.append(rest.substr(0, *bad));
    rest.remove_prefix(*bad + 1);
  }
  clean.append(rest);
  write_atomically(to, clean);
}

std::string download(const Parts& parts, const std::string& folder) {
  std::string_view hint =
      "needs Debian or Ubuntu with apt-get and package lists (sudo apt-get update); or give your own "
      "files: --data.train_urls='[\"my/*.txt\"]'";
  if (run({"apt-get", "-qq", "download", parts.package}, folder) != 0) {
    fail(ErrorKind::NotFound, "the Debian package {} could not be downloaded: {}\nhint: {}", parts.package,
         exists(folder + "/log") ? std::string(trim(read_text(folder + "/log"))) : "apt-get did not start",
         hint);
  }
  for (const auto& name : files().list(folder)) {
    if (!name.ends_with(".deb")) continue;
    if (run({"dpkg-deb", "--extract", name, "unpacked"}, folder) == 0)
      return folder + "/unpacked" + parts.path;
  }
  fail(ErrorKind::NotFound, "the Debian package {} could not be unpacked\nhint: {}", parts.package, hint);
}

}  // namespace

bool is_debian_text(std::string_view url) { return url.starts_with(kScheme); }

namespace {

std::string text_cache() { return path_join(env::cache_directory(), "text"); }

// One file name for the whole path in the package, and another for every other path.
std::string flat(std::string_view path) {
  constexpr std::size_t kLongest = 200;
  std::string out;
  for (const char c : path.substr(1)) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
    out += is_plain ? std::string(1, c) : fmt::format("_{:02X}", static_cast<unsigned char>(c));
  }
  return out.size() <= kLongest ? out : hash128(path).hex();
}

// Before, files of one package whose names begin alike had one entry: it belongs to the path that a note
// beside it names, or to the first that asks.
std::optional<std::string> earlier_entry(const Parts& parts) {
  constexpr std::size_t kLongestName = 255;
  const auto name = fmt::format("{}-{}.txt", parts.package, split(base_name(parts.path), '.')[0]);
  const auto entry = path_join(text_cache(), name);
  if (name.size() > kLongestName || !exists(entry)) return std::nullopt;
  const std::string note = entry + ".path";
  if (!exists(note)) {
    try {
      write_atomically(note, parts.path + "\n");
    } catch (const Error&) {  // of a read-only disk: nobody else can take it either
    }
    return entry;
  }
  return trim(read_text(note)) == parts.path ? std::optional(entry) : std::nullopt;
}

std::string target_of(const Parts& parts) {
  if (auto entry = earlier_entry(parts)) return *entry;
  return fmt::format("{}/{}/{}.txt", text_cache(), parts.package, flat(parts.path));
}

}  // namespace

bool debian_text_is_here(const std::string& url) { return exists(target_of(parse(url))); }

std::string fetch_debian_text(const std::string& url) {
  auto parts = parse(url);
  auto cache = text_cache();
  auto target = target_of(parts);
  if (exists(target)) return target;
  auto folder = fmt::format("{}/.{}-{}", cache, parts.package, ::getpid());
  remove_all(folder);
  files().make_directories(folder);
  try {
    auto file = download(parts, folder);
    if (!exists(file))
      fail(ErrorKind::NotFound, "the Debian package {} has no file {}", parts.package, parts.path);
    files().make_directories(parent_path(target));
    copy_clean(file, target);
  } catch (...) {
    remove_all(folder);
    throw;
  }
  remove_all(folder);
  return target;
}

}  // namespace bora::run
