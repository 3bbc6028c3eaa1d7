// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// The bytes of an array that every worker of a communicator holds alike.
struct Replica {
  std::string_view path;
  std::span<const std::byte> bytes;
};

/// Compares hashes of `replicas`, the same arrays in the same order on all. Silent where they agree; else
/// Stopped on every worker, in words that name the first array that differs, who holds other values than most
/// (both sides where there is no majority), and the first byte. Who differs has a bad memory cell or a
/// processor that miscomputes: replicas compute the same bits. Costs one pass over the bytes and 16 bytes
/// sent. Collective.
void require_equal_replicas(Communicator& workers, std::span<const Replica> replicas, std::string_view when);

}  // namespace bora::mesh
