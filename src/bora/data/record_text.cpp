// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/record_text.h"

#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::data {

Json parse_record(std::string_view json) {
  Json record = parse_json(json, "record");
  if (!record.is_object()) {
    fail(ErrorKind::Corruption, "each record should be one JSON object but this one is {}",
         std::string_view(record.type_name()));
  }
  return record;
}

const Json& record_field(const Json& record, const std::string& field, std::string_view key) {
  const auto found = record.find(field);
  if (found != record.end()) return *found;
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) {
    if (names.size() < 10) names.push_back(name);
  }
  fail(ErrorKind::Corruption,
       "no field \"{}\"; the object has {}\nhint: set format.{} to the field that holds it", field,
       names.empty() ? "none" : join(names), key);
}

const std::string& record_text(const Json& record, const std::string& field, std::string_view key) {
  const Json& value = record_field(record, field, key);
  if (value.is_string()) return value.get_ref<const std::string&>();
  fail(ErrorKind::Corruption, "field \"{}\" should be a string but is {}", field, value.dump().substr(0, 40));
}

}  // namespace bora::data
