// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/arrow_plugin.h"

namespace bora::store {

Plugin arrow_plugin(const ArrowNeed& need, const std::string& library) {
  const std::string again = "scripts/setup.sh --arrow, then build again";
  return Plugin(library, {.name = "Arrow plug-in",
                          .version_symbol = "bora_arrow_plugin_version",
                          .version = kArrowPluginVersion,
                          .absent = need.path + ": " + need.what + " is not built into this program",
                          .build = again + "; " + need.otherwise,
                          .repair = again + "; where pip installed Bora: pip install 'bora[arrow]'",
                          .setup = "arrow"});
}

}  // namespace bora::store
