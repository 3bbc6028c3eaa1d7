// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/core/attention_library.h"

namespace bora::core {

/// Raised with every change of attention_library.h or of the functions that the plug-in exports; loader and plug-in must
/// agree.
inline constexpr int kCudnnPluginVersion = 2;

/// Opens `library` (the plug-in that `plugins/cudnn` builds), which looks for cuDNN itself. A bare name is looked for in
/// the program's own plug-in folders, then where the system looks. Never throws: where there is no plug-in, no cuDNN or
/// one that is too old, `why_not` of the result says so. A loaded plug-in stays loaded.
AttentionLibrary load_cudnn_plugin(const std::string& library = "libbora_cudnn.so");

}  // namespace bora::core
