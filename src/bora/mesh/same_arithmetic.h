// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/mesh/communicator.h"

namespace bora::mesh {

/// Silent where all workers pass the same `arithmetic`, words for what decides the last digits of a result
/// (core::RuntimeInfo::arithmetic). Else Unsupported on every worker, in words that name who computes how:
/// bits would depend on who computes what, and replicas would part. Collective.
void require_same_arithmetic(Communicator& workers, std::string_view arithmetic);

}  // namespace bora::mesh
