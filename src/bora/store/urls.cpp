// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/urls.h"
#include "bora/store/unreached.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <system_error>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/store/download.h"
#include "bora/store/format.h"
#include "bora/store/http_request.h"
#include "bora/store/hub_data.h"
#include "bora/store/object_store.h"
#include "bora/store/saved_dataset.h"

namespace bora::store {
namespace {

constexpr std::size_t kMaxPaths = 1'000'000;
constexpr int kMaxDepth = 200;

bool is_pattern(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::vector<std::string> parts_of_path(std::string_view path) {
  std::vector<std::string> out;
  for (auto& part : split(path, '/')) {
    if (!part.empty() && part != ".") out.push_back(part);
  }
  return out;
}

bool is_directory(const std::string& path) {
  auto info = files().info(path);
  return info && info->is_directory;
}

std::string join_under(const std::string& base, const std::string& name) {
  return base.empty() ? name : path_join(base, name);
}

std::string or_dot(const std::string& base) { return base.empty() ? "." : base; }

/// Follows a pattern's components from `base`; "" is the working directory.
class Walk {
 public:
  explicit Walk(const std::vector<std::string>& parts) : parts_(parts) {}

  void from(const std::string& base, std::size_t i, int depth = 0) {
    refuse_depth(base, depth);
    if (i == parts_.size()) {
      if (!is_directory(base)) found.push_back(base);
      return;
    }
    const std::string& part = parts_[i];
    if (part == "**") return any_depth(base, i, depth);
    if (!is_pattern(part)) {
      const std::string next = join_under(base, part);
      if (files().info(next)) from(next, i + 1, depth + 1);
      return;
    }
    for (const auto& name : entries(base)) {
      if (name.front() == '.' && part.front() != '.') continue;
      const std::string next = join_under(base, name);
      if (glob_match(part, name) && (i + 1 == parts_.size() || is_directory(next)))
        from(next, i + 1, depth + 1);
    }
  }

  std::vector<std::string> found;

 private:
  static std::vector<std::string> entries(const std::string& base) {
    return is_directory(or_dot(base)) ? files().list(or_dot(base)) : std::vector<std::string>{};
  }

  static void refuse_depth(const std::string& base, int depth) {
    if (depth <= kMaxDepth) return;
    fail(ErrorKind::Unsupported, "data files: {} is nested deeper than {} folders", base, kMaxDepth);
  }

  void any_depth(const std::string& base, std::size_t i, int depth) {
    if (i + 1 == parts_.size()) return everything(base, depth);
    from(base, i + 1, depth + 1);
    descend(base, [&](const std::string& folder) { from(folder, i, depth + 1); });
  }

  void everything(const std::string& base, int depth) {
    refuse_depth(base, depth);
    for (const auto& name : entries(base)) {
      const std::string next = join_under(base, name);
      if (name.front() != '.' && !is_directory(next)) found.push_back(next);
    }
    descend(base, [&](const std::string& folder) { everything(folder, depth + 1); });
  }

  /// Calls into(folder) for each folder in `base` but hidden ones, and those that a link leads back to.
  template <class Into>
  void descend(const std::string& base, const Into& into) {
    const auto here = files().info(or_dot(base));
    if (!here) return;
    inside_.push_back(*here);
    for (const auto& name : entries(base)) {
      if (name.front() == '.') continue;
      const std::string next = join_under(base, name);
      const auto info = files().info(next);
      if (!info || !info->is_directory || leads_back(*info)) continue;
      if (++folders_ > kMaxPaths)
        fail(ErrorKind::Unsupported, "data files: more than {} folders below {}", kMaxPaths, or_dot(base));
      into(next);
    }
    inside_.pop_back();
  }

  bool leads_back(const FileInfo& folder) const {
    return std::any_of(inside_.begin(), inside_.end(),
                       [&](const FileInfo& above) { return above.same_file(folder); });
  }

  const std::vector<std::string>& parts_;
  std::vector<FileInfo> inside_;  // the folders on the way
  std::size_t folders_ = 0;
};

std::vector<std::string> sorted_unique(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string root_of(std::string_view path) { return path.starts_with('/') ? "/" : ""; }

/// Data files below a directory; files of other kinds are left out. Of a data set that was saved to disk, the
/// ones that it lists.
std::vector<std::string> data_files_below(const std::string& directory, Split split) {
  if (auto saved = saved_dataset_files(directory)) return *saved;
  if (auto of_hub = hub_dataset_files(directory, split)) return *of_hub;
  const std::vector<std::string> pattern{"**"};
  Walk walk(pattern);
  walk.from(directory, 0);
  std::erase_if(walk.found, [](const std::string& path) { return !is_data_file(path); });
  return sorted_unique(std::move(walk.found));
}

std::vector<std::string> matches(const std::string& path, Split split) {
  return is_directory(path) ? data_files_below(path, split) : glob_files(path);
}

/// What is there instead: the deepest folder of the path that exists, and its nearest names.
std::string what_is_there(const std::string& path) {
  std::string base = root_of(path);
  std::string missing;
  for (const auto& part : parts_of_path(path)) {
    const std::string next = join_under(base, part);
    if (is_pattern(part) || !is_directory(next)) {
      missing = part;
      break;
    }
    base = next;
  }
  if (!is_directory(or_dot(base))) return "check the path";
  auto names = files().list(or_dot(base));
  std::erase_if(names, [](const std::string& name) { return name.front() == '.'; });
  if (names.empty()) return fmt::format("{} is empty", or_dot(base));
  const std::string suggestion = did_you_mean(missing, names);
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(names.size(), kShown);
  std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("{} holds {}{}{}", or_dot(base), join(std::span<const std::string>(names).first(shown)),
                     more, suggestion);
}

/// Before anything is fetched: a name that ends in a format Bora reads.
const std::string& checked_name(const std::string& url) {
  file_format(url.substr(0, url.find_first_of("?#")));
  return url;
}

std::string download_folder() { return path_join(env::cache_directory(), "downloads"); }

std::string local_path(const std::string& url, const DownloadOptions& options) {
  if (auto scheme = remote_scheme(url)) {
    if (is_fetched(*scheme)) return download(checked_name(url), download_folder(), options);
    fail(ErrorKind::Unsupported,
         "data files: {} is on {}://, which Bora does not read\nhint: download the files and give their "
         "local paths",
         redact(url), *scheme);
  }
  return url.starts_with("file://") ? url.substr(7) : url;
}

std::vector<std::string> copies_of_objects(const std::string& url, const DownloadOptions& options) {
  std::vector<std::string> out;
  for (const auto& object : object_urls(url, options))
    out.push_back(download_object(checked_name(object), download_folder(), options));
  return out;
}

/// The files of one entry without braces, which is a part of `pattern`.
std::vector<std::string> files_of(const std::string& url, const std::string& pattern, Split split,
                                  const DownloadOptions& options) {
  const auto scheme = remote_scheme(url);
  if (scheme && is_object_scheme(*scheme)) return copies_of_objects(url, options);
  if (scheme == "hf") {
    auto hub = hub_options();
    hub.max_bytes = options.max_bytes;
    return hub_data_files(url, split, hub);
  }
  const std::string path = local_path(url, options);
  auto found = matches(path, split);
  if (!found.empty()) return found;
  const std::string whole = url == pattern ? "" : fmt::format(" (from \"{}\")", redact(pattern));
  fail(ErrorKind::NotFound, "data files: no file matches \"{}\"{}\nhint: {}", path, whole,
       what_is_there(path));
}

/// Entries one after the other, and who gave which file.
class Expansion {
 public:
  Expansion(Split split, const DownloadOptions& options) : split_(split), options_(options) {}

  void add(const std::string& pattern) {
    for (const auto& url : expand_braces(pattern)) {
      for (const auto& file : files_of(url, pattern, split_, options_)) {
        auto [it, is_new] = given_by_.emplace(place_of(file), pattern);
        if (!is_new) {
          fail(ErrorKind::Config,
               "data files: {} is given twice, by \"{}\" and by \"{}\"\nhint: remove one of them", file,
               redact(it->second), redact(pattern));
        }
        files.push_back(file);
      }
      if (files.size() > kMaxPaths) {
        fail(ErrorKind::Unsupported, "data files: \"{}\" gives more than {} files", pattern, kMaxPaths);
      }
    }
  }

  std::vector<std::string> files;

 private:
  // However it is written: "./a.txt" is "a.txt". A link is a file of its own.
  static std::string place_of(const std::string& file) {
    std::error_code error;
    const auto whole = std::filesystem::absolute(file, error);
    return error ? file : whole.lexically_normal().string();
  }

  Split split_;
  const DownloadOptions& options_;
  std::map<std::string, std::string> given_by_;
};

constexpr std::size_t kAsked = 6;

// Of the URLs of a pattern; the others are taken to be as large as these.
void ask_for_some(const std::vector<std::string>& urls, const DownloadOptions& options,
                  const std::function<std::unique_ptr<Origin>(const std::string&)>& origin_of,
                  RemoteFound& out) {
  std::size_t asked = 0, here = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (i + 1 >= kAsked && i + 1 < urls.size()) continue;
    const auto file = ask_for(checked_name(urls[i]), download_folder(), options, origin_of);
    ++asked;
    here += file.is_here ? 1 : 0;
    if (!file.is_here && file.size > 0) bytes += static_cast<double>(file.size);
  }
  const auto all = static_cast<std::int64_t>(urls.size());
  out.files += all;
  if (here == asked) return;  // as far as anybody looked
  out.to_come += all - static_cast<std::int64_t>(here);
  out.bytes +=
      bytes / static_cast<double>(asked - here) * static_cast<double>(all - static_cast<std::int64_t>(here));
}

// Google's client tries for long before it says that there is no way to its servers, if these are what it asks. (An
// emulator is for tests.)
void require_google(const std::string& entry, const DownloadOptions& options) {
  if (entry.find("endpoint_override") != std::string::npos) return;
  if (env::for_tests("CLOUD_STORAGE_EMULATOR_ENDPOINT")) return;
  constexpr const char* kServer = "https://storage.googleapis.com/";
  try {
    http_get({.url = kServer, .connect_seconds = 10, .silent_seconds = options.silent_seconds},
             {[](const HttpAnswer&) { return false; }, [](std::span<const std::byte>) {}});
  } catch (const Unreached& e) {
    throw Unreached(fmt::format("{}: {}", redact(entry), e.what()));
  } catch (const Error&) {  // an answer of whatever kind
  }
}

}  // namespace

RemoteFound ask_for_remote(const std::string& entry, Split split, const DownloadOptions& given) {
  RemoteFound out;
  auto options = given;
  options.tries = std::min(options.tries, 3);
  options.silent_seconds = std::min(options.silent_seconds, 20.0);
  const auto scheme = remote_scheme(entry).value_or("");
  if (scheme == "hf") {
    auto hub = hub_options();
    hub.max_bytes = options.max_bytes;
    hub.pause_seconds = std::min(hub.pause_seconds, 0.3);
    const auto asked = ask_for_hub_data(entry, split, hub);
    return {asked.files, asked.to_come, static_cast<double>(asked.bytes), asked.is_reached, {}};
  }
  const auto urls = expand_braces(entry);
  if (!is_object_scheme(scheme)) {
    ask_for_some(urls, options, [&](const std::string& url) { return http_origin(url, options); }, out);
    out.is_whole = urls.size() <= kAsked;
    return out;
  }
  if (env::checkout() && !can_open_object_stores()) {
    out.files = out.to_come = std::ssize(urls);
    out.not_asked = fmt::format("{}:// is read by a plug-in that the start builds first", scheme);
    return out;
  }
  if (scheme == "gs") require_google(entry, options);
  // Where a bucket does not answer, Google's client would try for a minute.
  const std::string impatient = "retry_limit_seconds=10";
  const bool may_hurry = scheme == "gs" && entry.find("retry_limit_seconds") == std::string::npos;
  const auto hurried = [&](std::string url) {
    if (!may_hurry) return url;
    const auto end = std::min(url.find('#'), url.size());
    const char sign = url.find('?') < end ? '&' : '?';
    return url.insert(end, sign + impatient);
  };
  const auto as_given = [&](std::string text) {
    if (const auto at = text.find(impatient); may_hurry && at != text.npos)
      text.erase(at - 1, impatient.size() + 1);
    return text;
  };
  try {
    for (const auto& url : urls) {
      auto objects = object_urls(hurried(url), options);
      for (auto& object : objects) object = as_given(object);
      ask_for_some(
          objects, options, [&](const std::string& object) { return object_origin(hurried(object)); }, out);
    }
  } catch (const Unreached& e) {
    throw Unreached(as_given(e.what()), e.kind());
  } catch (const Error& e) {
    throw Error(e.kind(), as_given(e.what()));
  }
  return out;
}

bool is_fetched(std::string_view scheme) {
  return scheme == "http" || scheme == "https" || scheme == "hf" || is_object_scheme(scheme);
}

std::optional<std::string> remote_scheme(std::string_view url) {
  const auto end = url.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const auto scheme = url.substr(0, end);
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
  };
  if (!std::all_of(scheme.begin(), scheme.end(), legal) || scheme == "file") return {};
  return std::string(scheme);
}

std::vector<std::string> glob_files(const std::string& pattern) {
  if (const auto info = files().info(pattern)) {  // a name may contain [ and ]
    return info->is_directory ? std::vector<std::string>{} : std::vector<std::string>{pattern};
  }
  if (!is_pattern(pattern)) return {};
  const auto parts = parts_of_path(pattern);
  Walk walk(parts);
  walk.from(root_of(pattern), 0);
  return sorted_unique(std::move(walk.found));
}

std::vector<std::string> expand_urls(std::span<const std::string> patterns, Split split,
                                     const DownloadOptions& options) {
  Expansion expansion(split, options);
  for (const auto& pattern : patterns) expansion.add(pattern);
  return std::move(expansion.files);
}

FoundFiles find_files(std::span<const std::string> patterns, Split split, const DownloadOptions& options) {
  FoundFiles found;
  Expansion expansion(split, options);
  for (const auto& pattern : patterns) {
    try {
      expansion.add(pattern);
    } catch (const Error& e) {
      found.problems.emplace_back(e.what());
    }
  }
  found.files = std::move(expansion.files);
  return found;
}

}  // namespace bora::store
