// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace bora::store {

/// The files of a data set that Hugging Face's `save_to_disk` wrote to `directory`, in its order; nothing if
/// the directory holds none. Of a set of several splits the directory of one must be given; a single one is
/// taken. Source: the `datasets` package, `state.json` with `_data_files`, `dataset_dict.json` with `splits`.
/// Errors: Config where there are several splits; Corruption where the lists are not what they should be or
/// name a file outside of the directory; Unsupported for rows that were selected but not written.
std::optional<std::vector<std::string>> saved_dataset_files(const std::string& directory);

}  // namespace bora::store
