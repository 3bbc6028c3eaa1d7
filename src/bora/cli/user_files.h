// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Files that a command is given: what is there is not written over, and what is none of its kind is told.
#pragma once
#include <string>
#include <string_view>

namespace bora::cli {

/// Usage if `path` is there, unless `force`, or Bora wrote it: its first bytes hold `mark`.
void require_free_file(std::string_view command, std::string_view flag, const std::string& path, bool force,
                       std::string_view mark = {});

/// The documentation of --force of such commands.
inline constexpr const char* kForceDoc = "write over a file that is there";

/// Corruption for what is no tensor file by its name or first bytes: what it is, and the command for it.
/// `takes_tokenizer`: other files of JSON pass.
void require_tensor_file(const std::string& path, bool takes_tokenizer);

}  // namespace bora::cli
