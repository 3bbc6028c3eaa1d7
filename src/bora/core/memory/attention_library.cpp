// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/attention_library.h"

#include <map>

namespace bora::core {
namespace {

std::map<Device::Type, AttentionLibrary>& libraries() {
  static std::map<Device::Type, AttentionLibrary> all;
  return all;
}

}  // namespace

void register_attention_library(Device::Type type, const AttentionLibrary& library) {
  libraries()[type] = library;
}

const AttentionLibrary& attention_library(Device::Type type) {
  static const AttentionLibrary none;
  const auto it = libraries().find(type);
  return it == libraries().end() ? none : it->second;
}

}  // namespace bora::core
