// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a run that goes on is told that it was not told before.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config_changes.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Keys of `now` that the last start of the run in a directory had otherwise, by its config.yaml; nothing where there is
/// none, or it cannot be read. What an older program did not know counts as its default. Data sets in another order, by
/// which a mixture deals their sequences, are a change of `data.configs`.
std::optional<std::vector<ConfigChange>> changed_keys(const std::string& run_directory, const LmConfig& now);

/// Whether a change of this key gives later steps other batches than the run would have had: some text would
/// be read twice and some never. False for what concerns evaluation and places.
bool decides_data_order(std::string_view key, const LmConfig& now);

}  // namespace bora::run
