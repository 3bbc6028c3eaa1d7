// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/hub.h"

namespace bora::store {

enum class HubKind { Model, Dataset };

struct HubEntry {
  std::string name;  ///< with its folders
  std::string etag;  ///< SHA-256 of what Git LFS has, else git's hash
  std::int64_t size = -1;
};

/// What a revision is and has.
struct HubListing {
  std::string commit;
  std::map<std::string, HubEntry> files;  ///< those whose names have no hidden part
};

/// A repository of the hub, and its folder in the cache: what hub.h and hub_data.h are made of.
class HubCache {
 public:
  /// A branch is the commit that it was when this process first asked: what belongs together stays together.
  HubCache(HubKind kind, HubRepo repo, const HubOptions& options);

  const HubRepo& repo() const { return repo_; }
  const HubOptions& options() const { return options_; }

  /// Asks the hub. Errors: those of fetch_from_hub; Io where
  /// it cannot be reached.
  HubListing ask();
  /// The commit that the revision names, or has been in this process; nothing where only the hub knows.
  std::optional<std::string> fixed_commit() const;
  /// The same, or what the cache says that a branch is.
  std::optional<std::string> known_commit() const;

  /// The file that says which commit a branch is, and the folder of what is noted below.
  std::string ref() const;
  std::string notes() const;

  /// The folder of a commit's files.
  std::string snapshot(const std::string& commit) const;
  /// Fetches those of these files that are not there. Then a loss of power takes none of them.
  void fetch(const HubListing& listing, const std::vector<std::string>& names);

  /// Notes, before they are fetched, that these files of a commit are all that `what` asks for: whoever finds one
  /// missing knows that it is.
  void begin(const std::string& commit, const std::string& what, const std::vector<std::string>& names) const;
  /// Notes that they have come, and that the revision is this commit.
  void note(const std::string& commit, const std::string& what, const std::vector<std::string>& names) const;
  /// What was noted, whether it is still there or not.
  std::optional<std::vector<std::string>> noted(const std::string& commit, const std::string& what) const;
  std::optional<std::vector<std::string>> begun(const std::string& commit, const std::string& what) const;
  /// Those of these names that the folder of a commit lacks.
  std::vector<std::string> missing(const std::string& commit, const std::vector<std::string>& names) const;

 private:
  std::string get(const std::string& url, const std::string& shown) const;
  std::string get_once(const std::string& url, const std::string& shown) const;
  void fetch_file(const HubListing& listing, const HubEntry& entry);
  void fetch_blob(const HubListing& listing, const HubEntry& entry, const std::string& blob);
  void sync_names(const std::string& commit, const std::vector<std::string>& names) const;
  std::string note_path(const std::string& commit, const std::string& what) const;

  HubKind kind_;
  HubRepo repo_;
  const HubOptions& options_;
  std::string folder_;
};

/// Whether a text is the name of a commit: 40 hexadecimal digits.
bool is_hub_commit(std::string_view text);
/// Whether a text is a file name of letters, digits, "." "_" and "-", not hidden.
bool is_hub_word(std::string_view text);

}  // namespace bora::store
