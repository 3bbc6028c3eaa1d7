// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <arrow/type_fwd.h>

#include <optional>
#include <string>
#include <string_view>

namespace bora::arrow_files {

/// Whether a column of this type holds texts: strings and bytes of every width, and dictionaries of them.
/// Bytes need not be UTF-8.
bool is_text(const arrow::DataType& type);
/// Whether its rows take bytes, so that a file holds only so many of them.
bool has_bytes(const arrow::DataType& type);

/// The text at `i`, or nothing where it is null.
std::optional<std::string_view> text_at(const arrow::Array& array, std::int64_t i);

/// Appends the row of a batch as a JSON object, columns in their order: numbers, strings, true and false,
/// lists and structures as themselves; bytes as strings if they are UTF-8, else as an object with their
/// number; numbers that JSON has no word for (infinity) and missing values as null; everything else (times,
/// decimals) as text.
void append_row(const arrow::RecordBatch& batch, std::int64_t row, std::string& out);

}  // namespace bora::arrow_files
