// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string_view>

#include "bora/store/documents.h"

namespace bora::store {

// The reader of each layout, for a range that is already aligned. Callers use open_documents.
std::unique_ptr<DocumentReader> open_text(const Source& source, const FileFormat& format, ByteRange range,
                                          const TextFormat& text_format, RawObserver observer);
std::unique_ptr<DocumentReader> open_records(const Source& source, const FileFormat& format, ByteRange range,
                                             const TextFormat& text_format, RawObserver observer);

std::unique_ptr<DocumentReader> open_table_documents(const Source& source, ByteRange range,
                                                     const TextFormat& format, RawObserver observer);

/// Where the first part of a table that begins at `offset` or later does; `size` if none does.
std::uint64_t next_table_part(const std::string& path, std::uint64_t offset, std::uint64_t size);

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace bora::store
