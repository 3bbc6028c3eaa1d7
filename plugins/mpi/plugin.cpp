// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What bora/mesh/mpi_plugin.cpp looks up by name. Plain C functions; nothing may throw across them.
#include <algorithm>
#include <cstring>
#include <exception>

#include "bora/mesh/mpi_plugin.h"
#include "mpi_transport.h"

extern "C" {

[[gnu::visibility("default")]] int bora_mpi_plugin_version() { return bora::mesh::kMpiPluginVersion; }

// Starts MPI. Null on failure, with its words in `error`.
[[gnu::visibility("default")]] bora::mesh::WorldTransport* bora_mpi_open(char* error, std::size_t room) {
  try {
    return bora::mpi::open_world().release();
  } catch (const std::exception& e) {
    const auto length = std::min(std::strlen(e.what()), room - 1);
    std::memcpy(error, e.what(), length);
    error[length] = '\0';
    return nullptr;
  }
}
}
