// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/base/json.h"

namespace bora::cli {

/// A JSON Schema (draft 2020-12) of configuration files, for editors: names, types, ranges, choices, meanings
/// and defaults, made from what the program knows of its keys. It refuses unknown keys, keys of another type's
/// section and values of a wrong kind; what several keys must be together only the program knows. A key with
/// several spellings allows them all. What would be listed several times stands in its $defs.
Json config_schema();

}  // namespace bora::cli
