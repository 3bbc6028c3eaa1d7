// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/documents.h"

#include "bora/base/error.h"
#include "bora/store/document_readers.h"

namespace bora::store {

std::unique_ptr<DocumentReader> open_documents(const Segment& segment, const TextFormat& format,
                                               RawObserver observer) {
  const ByteRange range = aligned_range(segment);
  const FileFormat file = file_format(segment.source.path);
  if (file.layout == Layout::Text && format.whole_records) {
    fail(ErrorKind::Config,
         "data files: {} is text, but this data set's records are JSON objects\nhint: give "
         ".jsonl files, or format.type: text",
         segment.source.path);
  }
  if (file.layout != Layout::Text && format.invalid_utf8 == InvalidText::Keep) {
    fail(ErrorKind::Config,
         "data files: {}: invalid UTF-8 can be kept in text files only\nhint: format.invalid_utf8: replace",
         segment.source.path);
  }
  if (file.layout == Layout::Table)
    return open_table_documents(segment.source, range, format, std::move(observer));
  if (file.layout == Layout::Text) return open_text(segment.source, file, range, format, std::move(observer));
  return open_records(segment.source, file, range, format, std::move(observer));
}

}  // namespace bora::store
