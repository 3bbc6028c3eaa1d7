// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the machine can compute at most, of which throughput/mfu is a share.
#pragma once
#include <optional>
#include <string>

#include "bora/core/dtype.h"
#include "bora/mesh/communicator.h"
#include "bora/train/config.h"

namespace bora::run {

/// Floating-point operations in a second, of all workers together.
struct Peak {
  enum class From { configuration, record, measured };
  double per_second = 0;
  From from = From::measured;
};

/// Of one worker: the fastest of products of two square matrices of `compute`, of a size that keeps all its
/// threads busy. Takes about `seconds`.
double measure_peak_flops(core::DType compute, double seconds = 0.1);

/// trainer.peak_flops; else what rank 0 found in the record of the run (`recorded`); else measured, by all
/// workers at the same time. Collective.
Peak find_peak(const train::TrainerConfig& config, std::optional<double> recorded,
               mesh::Communicator& workers);

/// "88.1 GFLOP/s in f32, measured"
std::string describe_peak(const Peak& peak, core::DType compute);

}  // namespace bora::run
