// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/store/ledger.h"

namespace bora::store {

enum class Match {
  Same,         ///< same sources, sizes and dates
  SameContent,  ///< names or dates differ, but what has been tokenized has the same hashes
};

/// Whether an existing cache is the one that is wanted. Where a file's name or date differs, the sources of
/// the finished shards are read again and their hashes compared. Errors: Config, with what differs, both
/// values, and what to do.
Match check_ledger(const std::string& directory, const Ledger& present, const Ledger& wanted);

/// What of this can be told from names and sizes alone. Errors: Config.
void check_sources(const std::string& directory, const Ledger& present, const std::vector<Source>& wanted);

}  // namespace bora::store
