// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bora::store {

/// What files are wanted for.
enum class Split { Train, Validation };

/// The files of one split of a hub data set that was cloned or downloaded to `directory`; nothing if it holds
/// none. Such a directory has a README.md that begins with a YAML block, a dataset_infos.json, or a
/// .gitattributes with LFS rules. For validation the split test serves where there is no other.
///
/// Splits are those of the README's `configs` (one configuration, or the one called or marked default; its
/// `data_files` or `data_dir`), else told by names: data/SPLIT-00000-of-00002*; then folders, then files,
/// that have train, training; validation, valid, dev, val; or test, testing, eval, evaluation in their names
/// as a word of its own; else all is train. Source: the `datasets` package 5.2, data_files.py.
///
/// Errors: Config where there are several configurations and no default, or no such split (with those there
/// are); Corruption for a README whose configs are not what they should be.
std::optional<std::vector<std::string>> hub_dataset_files(const std::string& directory, Split split);

/// The files of a data set, wherever they are.
struct DatasetFiles {
  std::string root;    ///< what their names begin with
  std::string readme;  ///< its text, or nothing
  /// Those that a pattern matches, by bytes, as glob_files.
  std::function<std::vector<std::string>(const std::string& pattern)> matches;
};
struct DatasetChoice {
  std::string configuration;  ///< one of the README's `configs`, or a folder; empty: the default one
  std::string split;          ///< the one of this name alone
  bool may_lack = false;      ///< without a split for validation there are no files
};
/// The same of such files. Errors: Config for a configuration or split that is not there, with those there are.
std::vector<std::string> dataset_files(const DatasetFiles& files, Split split,
                                       const DatasetChoice& choice = {});

}  // namespace bora::store
