// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "../matrix_library.h"

namespace bora::cuda {

/// For tests: the products of cuBLASLt that Bora asks for, computed on the host as NVIDIA documents them; anything else is
/// refused. `said` gets what is wrong with it.
const MatrixLibrary& host_matrix_library();
std::string& said();
/// How often it was asked for a way, and whether it has one.
int& times_asked();
bool& has_ways();
/// What it says at the next starts, in place of computing, if that is not 0.
int& status_of_starts();

}  // namespace bora::cuda
