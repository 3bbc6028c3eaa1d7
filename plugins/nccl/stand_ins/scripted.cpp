// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: a plug-in without NCCL, which says what the environment tells it to.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bora/mesh/nccl_plugin.h"

namespace {

const char* told(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

}  // namespace

extern "C" {

int bora_nccl_plugin_version() { return bora::mesh::kNcclPluginVersion; }

int bora_nccl_check(char* words, std::size_t room) {
  std::snprintf(words, room, "%s", told("STAND_IN_WORDS", ""));
  return std::atoi(told("STAND_IN_OUTCOME", "0"));
}

int bora_nccl_identity(int device, char* identity, std::size_t room) {
  std::snprintf(identity, room, "%s", told("STAND_IN_GPU", std::to_string(device).c_str()));
  return std::atoi(told("STAND_IN_NO_GPU", "0"));
}

int bora_nccl_make_id(bora::mesh::NcclId* id, char* error, std::size_t room) {
  id->fill(std::byte{7});
  std::snprintf(error, room, "no id today");
  return std::atoi(told("STAND_IN_ID", "0"));
}

bora::mesh::Transport* bora_nccl_open(int rank, int size, const bora::mesh::NcclId* id, int device,
                                      bora::mesh::NcclStream /*stream*/, double limit_seconds, char* error,
                                      std::size_t room) {
  std::snprintf(error, room, "worker %d of %d, device %d, id of %d, %g s", rank, size, device,
                static_cast<int>(id->back()), limit_seconds);
  return nullptr;
}
}
