// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "debian_text.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/byte_stream.h"

namespace bora::app {
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
std::string target_of(const Parts& parts) {
  return fmt::format("{}/{}-{}.txt", text_cache(), parts.package, split(base_name(parts.path), '.')[0]);
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
    copy_clean(file, target);
  } catch (...) {
    remove_all(folder);
    throw;
  }
  remove_all(folder);
  return target;
}

}  // namespace bora::app
