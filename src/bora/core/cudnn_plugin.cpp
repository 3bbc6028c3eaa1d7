// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cudnn_plugin.h"

#include "bora/base/error.h"
#include "bora/base/plugin.h"

namespace bora::core {

AttentionLibrary load_cudnn_plugin(const std::string& library) {
  constexpr std::string_view kName = "cuDNN plug-in";
  AttentionLibrary result;
  try {
    const Plugin plugin(
        library,
        {.name = std::string(kName),
         .version_symbol = "bora_cudnn_plugin_version",
         .version = kCudnnPluginVersion,
         .absent = "cuDNN plug-in: not built",
         .build = "scripts/setup.sh --cudnn, then configure with -DBORA_CUDA=ON where nvcc is found"});
    plugin.function<void(AttentionLibrary*)>("bora_cudnn_library")(&result);
  } catch (const Error& e) {
    const std::string words = e.what();
    result.name = kName;
    result.why_not = words.substr(kName.size() + 2, words.find('\n') - kName.size() - 2);
  }
  return result;
}

}  // namespace bora::core
