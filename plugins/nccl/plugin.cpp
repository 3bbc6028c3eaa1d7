// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What bora/mesh/nccl_plugin.cpp looks up by name. Plain C functions; nothing may throw across them. Texts
// are cut to their room.
#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "bora/mesh/nccl_plugin.h"
#include "check.h"
#include "nccl_transport.h"

namespace {

void put(std::string_view text, char* to, std::size_t room) {
  const auto length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int bora_nccl_plugin_version() { return bora::mesh::kNcclPluginVersion; }

// 0: all that was run is right; 1: something is not; 77: there is no device. `words` say what was run.
[[gnu::visibility("default")]] int bora_nccl_check(char* words, std::size_t room) {
  const auto check = bora::nccl::check_devices();
  put(check.words, words, room);
  return check.outcome;
}

// Which device of the host that is, its address on the bus: 0, or 1 with words of the failure in its place.
[[gnu::visibility("default")]] int bora_nccl_identity(int device, char* identity, std::size_t room) {
  try {
    put(bora::nccl::Place{.device = device}.identity(), identity, room);
    return 0;
  } catch (const std::exception& e) {
    put(e.what(), identity, room);
    return 1;
  }
}

// 0, or 1 with words in `error`.
[[gnu::visibility("default")]] int bora_nccl_make_id(bora::mesh::NcclId* id, char* error, std::size_t room) {
  try {
    *id = bora::nccl::make_id();
    return 0;
  } catch (const std::exception& e) {
    put(e.what(), error, room);
    return 1;
  }
}

// Null on failure, with its words in `error`.
[[gnu::visibility("default")]] bora::mesh::Transport* bora_nccl_open(int rank, int size,
                                                                     const bora::mesh::NcclId* id, int device,
                                                                     bora::mesh::NcclStream stream,
                                                                     double limit_seconds, char* error,
                                                                     std::size_t room) {
  try {
    return new bora::nccl::NcclTransport({rank, size, device}, *id, limit_seconds, stream);
  } catch (const std::exception& e) {
    put(e.what(), error, room);
    return nullptr;
  }
}
}
