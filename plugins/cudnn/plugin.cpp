// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What bora/core/cudnn_plugin.cpp looks up by name.
#include "bora/core/cudnn_plugin.h"
#include "graphs.h"
#include "plans.h"

extern "C" {

[[gnu::visibility("default")]] int bora_cudnn_plugin_version() { return bora::core::kCudnnPluginVersion; }

[[gnu::visibility("default")]] void bora_cudnn_library(bora::core::AttentionLibrary* to) {
  using namespace bora::cudnn;
  if (const auto& why = why_no_library(); !why.empty())
    *to = {.name = "cuDNN", .why_not = why};
  else
    *to = {"cuDNN " + version_text(library_version()), "", ready, forward, backward};
}
}
