// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub_data.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/format.h"
#include "bora/store/hub_cache.h"
#include "bora/store/unreached.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using Names = std::vector<std::string>;
constexpr std::string_view kBegin = "hf://datasets/";

Names components(std::string_view path) {
  Names out = split(path, '/');
  std::erase_if(out, [](const std::string& part) { return part.empty(); });
  return out;
}

bool has_magic(std::string_view path) { return path.find_first_of("*?[") != path.npos; }

// Of names that a listing has, in order.
Names matching(const Names& names, const std::string& pattern) {
  const auto parts = components(pattern);
  Names out;
  for (const auto& name : names)
    if (name == pattern || glob_match_path(parts, components(name))) out.push_back(name);
  return out;
}

class Dataset {
 public:
  Dataset(const HubDataUrl& url, Split split, const HubOptions& options)
      : url_(url), split_(split), cache_(HubKind::Dataset, url.repo, options) {}

  HubDataAsked ask() {
    HubDataAsked out;
    out.files = std::ssize(files(&out));
    return out;
  }

  // With `asked`, which learns what is still to come, nothing is fetched.
  Names files(HubDataAsked* asked = nullptr) {
    const auto fixed = cache_.fixed_commit();
    if (fixed)
      if (const auto names = noted(*fixed)) return paths(*fixed, *names);
    if (cache_.options().offline) return from_cache("HF_HUB_OFFLINE is set");
    HubListing listing;
    try {
      listing = cache_.ask();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Io) throw;
      auto found = from_cache(e.what(), dynamic_cast<const Unreached*>(&e) != nullptr);
      if (asked != nullptr) asked->is_reached = false;
      if (asked != nullptr) return found;
      log_warning("{}; going on with what the cache has of {}", e.what(), url_.repo.id);
      return found;
    }
    auto names = choose(listing);
    for (const auto& name : names) file_format(name);  // before anything is fetched
    if (asked != nullptr) {
      const auto missing = cache_.missing(listing.commit, names);
      asked->to_come = std::ssize(missing);
      for (const auto& name : missing) asked->bytes += std::max<std::int64_t>(0, listing.files.at(name).size);
      return names;
    }
    cache_.fetch(listing, names);
    cache_.note(listing.commit, what(), names);
    return paths(listing.commit, names);
  }

 private:
  std::string what() const {
    return fmt::format("{} {}", split_ == Split::Train ? "train" : "validation", url_.text());
  }
  std::optional<Names> noted(const std::string& commit) const {
    auto names = cache_.noted(commit, what());
    if (names && !cache_.missing(commit, *names).empty()) names.reset();
    return names;
  }
  Names paths(const std::string& commit, Names names) const {
    for (auto& name : names) name = path_join(cache_.snapshot(commit), name);
    return names;
  }

  Names from_cache(std::string_view why, bool is_unreached = false) const {
    const auto commit = cache_.known_commit();
    if (commit)
      if (const auto names = noted(*commit)) return paths(*commit, *names);
    const auto said = fmt::format(
        "{}: the data set of revision {} is not in {} yet, and the hub was not asked or not reached: {}\n"
        "hint: fetch it where there is a network, or give files: train_urls",
        url_.repo.id, url_.repo.revision, cache_.options().cache, why);
    if (is_unreached) throw Unreached(said, ErrorKind::NotFound);
    throw Error(ErrorKind::NotFound, said);
  }

  Names choose(const HubListing& listing) {
    Names all;
    for (const auto& [name, entry] : listing.files) all.push_back(name);
    auto chosen = url_.path.empty() ? of_split(listing, all) : of_path(all);
    if (!chosen.empty() || (url_.path.empty() && split_ == Split::Validation && url_.split.empty()))
      return chosen;
    Names shown(all.begin(), all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), 8));
    fail(
        ErrorKind::NotFound,
        "{}: revision {} has {}; it has {}{}\n"
        "hint: Bora reads .parquet, .arrow, .jsonl, .json and .txt, compressed or not; the hub has many data sets as "
        "Parquet files under {}@refs/convert/parquet",
        url_.repo.id, url_.repo.revision,
        url_.path.empty() ? "no data that Bora reads" : "nothing called " + url_.path, join(shown),
        std::ssize(all) > 8 ? fmt::format(" and {} more files", all.size() - 8) : "", url_.repo.id);
  }

  Names of_path(const Names& all) const {
    auto found = matching(all, url_.path);
    if (!found.empty() || has_magic(url_.path)) return found;
    found = matching(all, path_join(url_.path, "**"));
    std::erase_if(found, [](const std::string& name) { return !is_data_file(name); });
    return found;
  }

  Names of_split(const HubListing& listing, const Names& all) {
    const std::string root = std::string(kBegin) + url_.repo.id, readme = "README.md";
    DatasetFiles files{root, "", [&](const std::string& pattern) {
                         const auto below = pattern.substr(std::min(pattern.size(), root.size() + 1));
                         auto found = matching(all, below);
                         for (auto& name : found) name = path_join(root, name);
                         return found;
                       }};
    if (listing.files.contains(readme)) {
      cache_.fetch(listing, {readme});
      files.readme = read_text(path_join(cache_.snapshot(listing.commit), readme));
    }
    auto found = dataset_files(files, split_, {url_.configuration, url_.split, /*may_lack=*/true});
    for (auto& name : found) name = name.substr(root.size() + 1);
    return found;
  }

  const HubDataUrl& url_;
  Split split_;
  HubCache cache_;
};

}  // namespace

std::string HubDataUrl::text() const {
  auto out = std::string(kBegin) + repo.id;
  if (repo.revision != "main") out += "@" + repo.revision;
  if (!path.empty()) return out + "/" + path;
  std::string sign = "?";
  for (const auto& [key, value] : {std::pair("config", configuration), std::pair("split", this->split)}) {
    if (value.empty()) continue;
    out += fmt::format("{}{}={}", sign, key, value);
    sign = "&";
  }
  return out;
}

HubDataUrl parse_hub_data(std::string_view url) {
  const auto wrong = [&] {
    fail(ErrorKind::Config,
         "data files: \"{}\" is no data set of the hub\n"
         "hint: hf://datasets/owner/name, or with @revision, a path or ?config=NAME&split=NAME behind it",
         url);
  };
  if (!url.starts_with(kBegin)) wrong();
  auto rest = url.substr(kBegin.size());
  HubDataUrl out;
  const auto at = rest.find('@');
  // A revision may have slashes: where there is one, refs/... has three parts, and any other has one.
  auto slash = rest.find('/');
  if (slash != rest.npos) slash = rest.find_first_of("/?", slash + 1);
  if (at != rest.npos && (slash == rest.npos || at < slash)) {
    slash = rest.find_first_of("/?", at);
    if (rest.substr(at + 1).starts_with("refs/"))
      for (int parts = 0; parts < 2 && slash != rest.npos; ++parts)
        slash = rest.find_first_of("/?", slash + 1);
  }
  const auto repo = parse_hub_repo(rest.substr(0, slash));
  if (!repo) wrong();
  out.repo = *repo;
  rest = slash == rest.npos ? std::string_view() : rest.substr(slash);
  if (rest.starts_with('/')) {
    out.path = rest.substr(1);
    while (out.path.ends_with('/')) out.path.pop_back();
    return out;
  }
  for (const auto& part : split(rest.empty() ? rest : rest.substr(1), '&')) {
    if (part.empty()) continue;
    const auto is = part.find('=');
    const auto key = part.substr(0, is);
    if (is == part.npos || (key != "config" && key != "split")) wrong();
    (key == "config" ? out.configuration : out.split) = part.substr(is + 1);
  }
  return out;
}

void pin_hub_data(const std::string& url, const HubOptions& options) {
  const auto parsed = parse_hub_data(url);
  HubCache cache(HubKind::Dataset, parsed.repo, options);
  if (options.offline || cache.fixed_commit()) return;
  try {
    (void)cache.ask();
  } catch (const Error&) {  // whoever needs the files says what is wrong
  }
}

std::vector<std::string> hub_data_files(const std::string& url, Split split, const HubOptions& options) {
  const auto parsed = parse_hub_data(url);
  return Dataset(parsed, split, options).files();
}

HubDataAsked ask_for_hub_data(const std::string& url, Split split, const HubOptions& options) {
  const auto parsed = parse_hub_data(url);
  return Dataset(parsed, split, options).ask();
}

}  // namespace bora::store
