// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/base/json.h"
#include "bora/data/mixture.h"

namespace bora::run {

/// The order of data that a checkpoint's state names; without a name it is that of older programs.
/// Errors: Unsupported for one that this program does not know.
data::DataOrder data_order_of(const Json& state);

/// That of the run in a directory, by its newest checkpoint; without one, that of new runs. Errors: as above.
data::DataOrder data_order_of_run(const std::string& directory);

}  // namespace bora::run
