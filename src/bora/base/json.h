// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <nlohmann/json.hpp>

#include <string_view>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;  // once, in json.cpp

namespace bora {

/// Objects keep the order in which keys were written. Looking a key up takes time in proportion to their
/// number: walk a vocabulary, do not search it.
using Json = nlohmann::ordered_json;

/// Parses JSON text. `name` (a file, usually) appears in errors, which give line and column.
/// Errors: Corruption on malformed text, on nesting deeper than `max_depth`, on a duplicate key in one
/// object.
Json parse_json(std::string_view text, std::string_view name, int max_depth = 64);

/// Typed access with errors that name the file and the key:
/// "config.json: hidden_size should be an integer but is \"x\"". Errors are Corruption. A whole number
/// written as 3.0 is an integer; an integer is a number. With `otherwise`, absent and null mean that value;
/// without, both are errors.
template <class T>
T json_get(const Json& object, std::string_view key, std::string_view name);
template <class T>
T json_get(const Json& object, std::string_view key, std::string_view name, const T& otherwise);

// T is one of: bool, std::int64_t, double, std::string.
extern template bool json_get(const Json&, std::string_view, std::string_view);
extern template std::int64_t json_get(const Json&, std::string_view, std::string_view);
extern template double json_get(const Json&, std::string_view, std::string_view);
extern template std::string json_get(const Json&, std::string_view, std::string_view);
extern template bool json_get(const Json&, std::string_view, std::string_view, const bool&);
extern template std::int64_t json_get(const Json&, std::string_view, std::string_view, const std::int64_t&);
extern template double json_get(const Json&, std::string_view, std::string_view, const double&);
extern template std::string json_get(const Json&, std::string_view, std::string_view, const std::string&);

}  // namespace bora
