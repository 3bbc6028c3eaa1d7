// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Configurations as other programs write them: JSON objects that call the keys otherwise.
#pragma once
#include <vector>

#include "bora/base/config.h"
#include "bora/base/json.h"

namespace bora {

/// Reads into the target, by its bind(), what `object` has for its keys outside sections: under the name that
/// `names` gives, or their own. What is absent keeps its value; null is a value for optionals alone. What
/// else the object holds is not looked at. Returns every problem, in the object's words.
std::vector<ConfigProblem> read_json(const Json& object, BindTarget target, const KeyNames& names);
/// All values of `from`, those outside sections under these names.
Json write_json(BindTarget from, const KeyNames& names);

}  // namespace bora
