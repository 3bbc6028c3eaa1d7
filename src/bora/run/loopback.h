// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>

namespace bora::run {

/// Whether mpirun starts all workers on this machine: nobody named hosts, neither with `hosts` nor in a batch
/// system's allocation or a host file; and the networks of MPI are nobody's choice (OMPI_MCA_oob_tcp_if_...).
bool stays_here(const std::string& hosts);

/// Value of LD_PRELOAD with which what listens on all networks listens on the loopback alone
/// (plugins/mpi/loopback.cpp); nothing where that library is not built.
std::optional<std::string> loopback_preload();

}  // namespace bora::run
