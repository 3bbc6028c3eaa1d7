// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>

#include "bora/mesh/transport.h"

namespace bora::mpi {

/// Starts MPI, unless the program has, and makes the transport of all its workers. Collective.
std::unique_ptr<mesh::WorldTransport> open_world();

}  // namespace bora::mpi
