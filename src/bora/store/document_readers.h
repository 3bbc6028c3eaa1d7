// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <string_view>

#include "bora/store/documents.h"

namespace bora::store {

// The reader of each layout, for a range that is already aligned. Callers use open_documents.
std::unique_ptr<DocumentReader> open_text(const Source& source, const FileFormat& format, ByteRange range,
                                          RawObserver observer);
std::unique_ptr<DocumentReader> open_records(const Source& source, const FileFormat& format, ByteRange range,
                                             const TextFormat& text_format, RawObserver observer);

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Throws the Corruption error of invalid UTF-8 at `offset` of the file's (decompressed) text.
[[noreturn]] void fail_utf8(const Source& source, const FileFormat& format, std::uint64_t offset);

}  // namespace bora::store
