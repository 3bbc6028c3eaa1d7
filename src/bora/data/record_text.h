// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

#include "bora/base/json.h"

namespace bora::data {

/// One JSON object of a data set. Errors, all Corruption: malformed JSON, not an object.
Json parse_record(std::string_view json);

/// The field of a record. Errors: Corruption if it is not there, with the fields there are and the `key` of
/// the configuration that names it.
const Json& record_field(const Json& record, const std::string& field, std::string_view key);

/// The same for a text. Errors: Corruption if it is something else.
const std::string& record_text(const Json& record, const std::string& field, std::string_view key);

}  // namespace bora::data
