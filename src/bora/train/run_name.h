// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/base/hash.h"

namespace bora::train {

/// A name for a run that has none: "brisk-otter-7". The same configuration gives the same name, so that a
/// second start finds the first one's checkpoints.
std::string run_name(const Hash128& configuration);

}  // namespace bora::train
