// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: the plug-in with its kernels on the host has them for GPUs 0 and 1, takes no graph, has no products with
// activations, and copies at once.
#include <cstdlib>
#include <cstring>

#include "../activated.h"
#include "../copies.h"
#include "../device.h"
#include "../graph.h"

bool bora::cuda::has_kernels(int gpu) { return gpu < 2; }
bool bora::cuda::begin_graph(void* /*stream*/) { return false; }
void* bora::cuda::end_graph(void* /*stream*/) { return nullptr; }
bool bora::cuda::launch_graph(void* /*graph*/, void* /*stream*/) { return false; }
void bora::cuda::destroy_graph(void* /*graph*/) {}

bora::core::DeviceKernels::ActivatedProduct bora::cuda::activated_products() { return {}; }

void* bora::cuda::pinned(std::int64_t bytes) { return std::malloc(static_cast<std::size_t>(bytes)); }
void* bora::cuda::copy_stream(std::int8_t device) {
  static int one[2];
  return &one[device];
}
void* bora::cuda::copy_event(std::int8_t device) { return copy_stream(device); }
bool bora::cuda::record_event(void* /*event*/, void* /*stream*/) { return true; }
bool bora::cuda::wait_for_event(void* /*stream*/, void* /*event*/) { return true; }
bool bora::cuda::begin_copy(void* to, const void* from, std::int64_t bytes, void* /*stream*/) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return true;
}
