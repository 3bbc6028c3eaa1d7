// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What bora/core/cuda_plugin.cpp looks up by name. Plain C functions; nothing may throw across them.
#include "activated.h"
#include "bora/core/cuda_plugin.h"
#include "copies.h"
#include "device.h"
#include "graph.h"
#include "table.h"

extern "C" {

[[gnu::visibility("default")]] int bora_cuda_plugin_version() { return bora::core::kCudaPluginVersion; }
[[gnu::visibility("default")]] bool bora_cuda_has_kernels(int gpu) { return bora::cuda::has_kernels(gpu); }
[[gnu::visibility("default")]] void bora_cuda_kernels(bora::core::DeviceKernels* kernels) {
  *kernels = bora::cuda::table();
  kernels->graph = {bora::cuda::begin_graph, bora::cuda::end_graph, bora::cuda::launch_graph,
                    bora::cuda::destroy_graph};
  kernels->activated_product = bora::cuda::activated_products();
  kernels->copies = {bora::cuda::pinned,       bora::cuda::copy_stream,    bora::cuda::copy_event,
                     bora::cuda::record_event, bora::cuda::wait_for_event, bora::cuda::begin_copy};
}
}
