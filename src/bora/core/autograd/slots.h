// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: tokens to slots and back, on plain tensors. place: i32 [tokens, k], contiguous.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// x [tokens, width] -> [slots, width]
at::Tensor dispatch(const at::Tensor& x, const at::Tensor& place);
/// y [slots, width], weights [tokens, k] -> [tokens, width]
at::Tensor combine(const at::Tensor& y, const at::Tensor& weights, const at::Tensor& place);

/// Runs of slots, one for each worker.
struct SlotRuns {
  std::vector<std::int64_t> sizes;
  Collectives* workers;
};
/// The worker's own run of x [slots, ...], which all workers have; back: the runs of all.
at::Tensor own_run(const at::Tensor& x, const SlotRuns& runs);
/// And the other way round.
at::Tensor all_runs(const at::Tensor& x, const SlotRuns& runs);

/// Rows that each worker sends to each, and gets from each, by worker.
struct SlotPost {
  std::vector<std::int64_t> sends, receives;
  Collectives* workers;
};
/// x [rows, ...]: runs for each worker, in their order -> what came from each worker. Back: gradients go the
/// other way (all-to-all).
std::vector<at::Tensor> post(const at::Tensor& x, const SlotPost& post);
/// The other way: what each worker is to have back -> the runs that the others gave back, one after another.
at::Tensor post_back(const std::vector<at::Tensor>& parts, const SlotPost& post);

}  // namespace bora::core::autograd
