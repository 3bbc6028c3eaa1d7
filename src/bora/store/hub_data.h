// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Data sets of the Hugging Face hub, in the cache that huggingface_hub keeps them in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/store/hub.h"
#include "bora/store/hub_dataset.h"

namespace bora::store {

/// The URL of a data set: `hf://datasets/owner/name[@revision]`, and behind it, in this order, what is wanted of it:
/// `/a/path.jsonl`, a folder there or a pattern; or `?config=NAME&split=NAME`, of which either may be absent.
struct HubDataUrl {
  HubRepo repo;
  std::string path;           ///< empty: the files of a split
  std::string configuration;  ///< empty: the default one
  std::string split;          ///< empty: the one that is usual for the use
  std::string text() const;
};
/// Errors: Config for hf:// that is no such URL.
HubDataUrl parse_hub_data(std::string_view url);

/// The files that are wanted, fetched where the cache does not have them: links in the folder of a commit, so that
/// other contents have other paths. Which files those are is read from the data set's README or their names, as
/// hub_dataset.h says. What is there of a commit is noted, and used without asking the hub again. Where there is
/// nothing for validation and no split was named, none.
///
/// Errors: those of fetch_from_hub and of dataset_files; NotFound where the data set has no such file; Unsupported
/// for files in formats that Bora does not read.
std::vector<std::string> hub_data_files(const std::string& url, Split split, const HubOptions& options);

/// The same without fetching more than a README: how many files there are, and what of them is still to come.
struct HubDataAsked {
  std::int64_t files = 0, to_come = 0;
  std::int64_t bytes = 0;  ///< of those to come, as far as the hub tells
  bool is_reached = true;  ///< false: the hub is not, and this is what the cache has
};
HubDataAsked ask_for_hub_data(const std::string& url, Split split, const HubOptions& options);

/// Asks which commit the data set's branch is, and keeps that for this process; nothing is fetched. What cannot be
/// reached is left to hub_data_files.
void pin_hub_data(const std::string& url, const HubOptions& options);

}  // namespace bora::store
