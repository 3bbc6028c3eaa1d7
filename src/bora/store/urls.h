// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/download.h"
#include "bora/store/hub_dataset.h"

namespace bora::store {

/// Turns the entries of `train_urls` and the like into existing files.
///
/// An entry is a path, with or without `file://`, a directory (every data file below it; of a data set that
/// Hugging Face's save_to_disk wrote, its files in its order; of a clone of one of the hub, the files of
/// `split`: hub_dataset.h), or a pattern: `{a,b}` and `{1..128}` or
/// `{00..29}` as in bash, then `*`, `?`, `[a-z]`, `[!a-z]` within one folder and `**` for any depth. Order:
/// entries as given, braces as written, the matches of one pattern by bytes. Hidden files (a leading dot)
/// match only a pattern that names the dot.
///
/// http:// and https:// URLs, where only braces are patterns, are fetched (download.h) into the folder
/// `downloads` of Bora's caches. So are s3:// and gs:// URLs (object_store.h), which may be folders and
/// patterns too; `?` begins their options.
///
/// hf://datasets/... is a data set of the hub, or some of its files (hub_data.h).
///
/// Errors: NotFound if an entry matches nothing (with the nearest names there are); Unsupported for other
/// schemes; Config if two entries give the same file; what download raises.
std::vector<std::string> expand_urls(std::span<const std::string> patterns, Split split = Split::Train,
                                     const DownloadOptions& options = {});

/// What is there of such entries, each looked at once: the files, and the words of every error.
struct FoundFiles {
  std::vector<std::string> files, problems;
};
FoundFiles find_files(std::span<const std::string> patterns, Split split = Split::Train,
                      const DownloadOptions& options = {});

/// A remote entry, as far as those that have it tell; nothing is fetched but the README of a hub data set.
struct RemoteFound {
  std::int64_t files = 0, to_come = 0;
  double bytes = 0;  ///< of those to come, as far as it is known
  bool is_whole =
      false;  ///< each was looked for, and expand_urls does not wait for anybody for those that are here
  std::string not_asked;  ///< why nobody was asked; empty: somebody was
};
/// Of many URLs of one pattern the first ones and the last are asked for. Threads may ask at once, but not for several
/// entries of one repository of the hub. Errors: those of expand_urls; Unreached where nobody answers.
RemoteFound ask_for_remote(const std::string& entry, Split split, const DownloadOptions& options = {});

/// The files that a local path with `*`, `?`, `[..]` or `**` matches, by bytes; those of a directory are not
/// looked for.
std::vector<std::string> glob_files(const std::string& pattern);

/// "gs" for "gs://bucket/x"; nothing for a local path or file://.
std::optional<std::string> remote_scheme(std::string_view url);

/// Whether expand_urls fetches files of such a scheme.
bool is_fetched(std::string_view scheme);

/// `{a,b}`, `{1..3}`, `{01..10}`, `{a..e}`, nested; anything else in braces stands for itself.
std::vector<std::string> expand_braces(std::string_view pattern);

/// Whether a path's components match those of a pattern, which may have `**`, as glob_files has it.
bool glob_match_path(std::span<const std::string> pattern, std::span<const std::string> path);

/// Whether one path component matches a pattern of `*`, `?` and `[..]`.
bool glob_match(std::string_view pattern, std::string_view name);

}  // namespace bora::store
