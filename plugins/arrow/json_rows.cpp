// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "json_rows.h"

#include <arrow/api.h>
#include <arrow/util/utf8.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bora/base/error.h"

namespace bora::arrow_files {
namespace {

void append_string(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  out += '"';
}

bool holds_bytes(const arrow::DataType& type) {
  using arrow::Type;
  if (type.id() == Type::DICTIONARY)
    return holds_bytes(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return type.id() == Type::BINARY || type.id() == Type::LARGE_BINARY || type.id() == Type::BINARY_VIEW;
}

bool is_utf8(std::string_view text) {
  static const bool ready = (arrow::util::InitializeUTF8(), true);
  return ready && arrow::util::ValidateUTF8(text);
}

/// Pictures and the like are no text. Who wants text there finds an object and says so.
void append_text(const arrow::DataType& type, std::string_view text, std::string& out) {
  if (holds_bytes(type) && !is_utf8(text))
    out += fmt::format(R"({{"bytes that are no UTF-8":{}}})", text.size());
  else
    append_string(text, out);
}

void append_value(const arrow::Array& array, std::int64_t i, std::string& out);

void append_elements(const arrow::Array& values, std::int64_t begin, std::int64_t size, std::string& out) {
  out += '[';
  for (std::int64_t k = 0; k < size; ++k) {
    if (k > 0) out += ',';
    append_value(values, begin + k, out);
  }
  out += ']';
}

template <class List>
void append_list(const arrow::Array& array, std::int64_t i, std::string& out) {
  const auto& list = static_cast<const List&>(array);
  append_elements(*list.values(), list.value_offset(i), list.value_length(i), out);
}

void append_structure(const arrow::StructArray& array, std::int64_t i, std::string& out) {
  out += '{';
  for (int f = 0; f < array.num_fields(); ++f) {
    if (f > 0) out += ',';
    append_string(array.struct_type()->field(f)->name(), out);
    out += ':';
    append_value(*array.field(f), i, out);
  }
  out += '}';
}

template <class Numbers>
void append_number(const arrow::Array& array, std::int64_t i, std::string& out) {
  const auto value = static_cast<const Numbers&>(array).Value(i);
  if constexpr (std::is_floating_point_v<decltype(value)>) {
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
  }
  out += fmt::format("{}", value);
}

/// Types that JSON has no word for, as Arrow prints them.
void append_other(const arrow::Array& array, std::int64_t i, std::string& out) {
  const auto scalar = array.GetScalar(i);
  if (!scalar.ok()) fail(ErrorKind::Unsupported, "a column of type {}", array.type()->ToString());
  append_string((*scalar)->ToString(), out);
}

void append_value(const arrow::Array& array, std::int64_t i, std::string& out) {
  using arrow::Type;
  if (array.IsNull(i)) {
    out += "null";
    return;
  }
  if (is_text(*array.type())) {
    const auto text = text_at(array, i);  // none, too, where the null is in the dictionary
    if (!text) out += "null";
    return text ? append_text(*array.type(), *text, out) : void();
  }
  switch (array.type_id()) {
    case Type::BOOL:
      out += static_cast<const arrow::BooleanArray&>(array).Value(i) ? "true" : "false";
      return;
    case Type::INT8:
      return append_number<arrow::Int8Array>(array, i, out);
    case Type::INT16:
      return append_number<arrow::Int16Array>(array, i, out);
    case Type::INT32:
      return append_number<arrow::Int32Array>(array, i, out);
    case Type::INT64:
      return append_number<arrow::Int64Array>(array, i, out);
    case Type::UINT8:
      return append_number<arrow::UInt8Array>(array, i, out);
    case Type::UINT16:
      return append_number<arrow::UInt16Array>(array, i, out);
    case Type::UINT32:
      return append_number<arrow::UInt32Array>(array, i, out);
    case Type::UINT64:
      return append_number<arrow::UInt64Array>(array, i, out);
    case Type::FLOAT:
      return append_number<arrow::FloatArray>(array, i, out);
    case Type::DOUBLE:
      return append_number<arrow::DoubleArray>(array, i, out);
    case Type::LIST:
      return append_list<arrow::ListArray>(array, i, out);
    case Type::LARGE_LIST:
      return append_list<arrow::LargeListArray>(array, i, out);
    case Type::FIXED_SIZE_LIST:
      return append_list<arrow::FixedSizeListArray>(array, i, out);
    case Type::STRUCT:
      return append_structure(static_cast<const arrow::StructArray&>(array), i, out);
    case Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return append_value(*coded.dictionary(), coded.GetValueIndex(i), out);
    }
    default:
      return append_other(array, i, out);
  }
}

}  // namespace

bool is_text(const arrow::DataType& type) {
  using arrow::Type;
  if (type.id() == Type::DICTIONARY)
    return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  constexpr std::array kTexts = {Type::STRING, Type::LARGE_STRING, Type::STRING_VIEW,
                                 Type::BINARY, Type::LARGE_BINARY, Type::BINARY_VIEW};
  return std::find(kTexts.begin(), kTexts.end(), type.id()) != kTexts.end();
}

bool has_bytes(const arrow::DataType& type) {
  using arrow::Type;
  const auto has = [](const std::shared_ptr<arrow::DataType>& inner) { return has_bytes(*inner); };
  switch (type.id()) {
    case Type::NA:
    case Type::RUN_END_ENCODED:  // a value of any number of rows
      return false;
    case Type::FIXED_SIZE_BINARY:
      return static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() > 0;
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      return list.list_size() > 0 && has(list.value_type());
    }
    case Type::STRUCT:
      return std::any_of(type.fields().begin(), type.fields().end(),
                         [&](const auto& field) { return has(field->type()); });
    case Type::EXTENSION:
      return has(static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      return true;
  }
}

std::optional<std::string_view> text_at(const arrow::Array& array, std::int64_t i) {
  using arrow::Type;
  if (array.IsNull(i)) return {};
  switch (array.type_id()) {
    case Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return text_at(*coded.dictionary(), coded.GetValueIndex(i));
    }
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(i);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(i);
    default:
      return static_cast<const arrow::BinaryArray&>(array).GetView(i);
  }
}

void append_row(const arrow::RecordBatch& batch, std::int64_t row, std::string& out) {
  out += '{';
  for (int c = 0; c < batch.num_columns(); ++c) {
    if (c > 0) out += ',';
    append_string(batch.column_name(c), out);
    out += ':';
    append_value(*batch.column(c), row, out);
  }
  out += '}';
}

}  // namespace bora::arrow_files
