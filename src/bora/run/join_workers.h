// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a command of several workers does first.
#pragma once
#include <memory>

#include "bora/mesh/communicator.h"
#include "bora/mesh/launch.h"
#include "bora/run/text_data.h"
#include "bora/train/config.h"

namespace bora::run {

/// Seconds that workers wait for the one that builds caches, or writes the last checkpoint.
inline constexpr double kPatience = 24 * 3600.0;

/// All workers that the launcher started, and the threads of this one: trainer.threads, or its share of the
/// host's.
std::shared_ptr<mesh::Communicator> join_workers(const mesh::LaunchEnvironment& launch,
                                                 const train::TrainerConfig& config);

/// How messages between the workers' devices go, for a run's first lines: mesh::connect_devices, before anything is
/// split off. In one line; "" where there is nothing to say.
std::string connect_devices(mesh::Communicator& workers);

/// They build caches together.
TextTeam text_team(mesh::Communicator& workers);

}  // namespace bora::run
