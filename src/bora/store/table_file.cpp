// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/table_file.h"

#include "bora/base/file.h"
#include "bora/store/arrow_plugin.h"

namespace bora::store {

std::unique_ptr<TableFile> open_table(const std::string& path, const std::string& library) {
  // Before the file: without the plug-in it is in vain.
  const auto plugin =
      arrow_plugin({path, "reading Parquet and Arrow", "or convert the file to jsonl"}, library);
  return open_with_plugin<TableFile, ReadFile*>(plugin, "bora_arrow_open", path,
                                                files().open(path).release());
}

}  // namespace bora::store
