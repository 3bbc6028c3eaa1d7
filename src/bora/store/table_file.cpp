// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/table_file.h"

#include "bora/base/file.h"
#include "bora/store/arrow_plugin.h"

namespace bora::store {

std::unique_ptr<TableFile> open_table(const std::string& path, const std::string& library) {
  const ArrowNeed need{path, "reading Parquet and Arrow", "or convert the file to jsonl"};
  arrow_plugin(need, library);  // before the file: without the plug-in it is in vain
  return open_with_arrow_plugin<TableFile, ReadFile*>(need, library, "bora_arrow_open", path,
                                                      files().open(path).release());
}

}  // namespace bora::store
