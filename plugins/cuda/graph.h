// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cuda {

// core::DeviceKernels::Graph, by CUDA's graphs. `stream` is none of CUDA's default ones, which notes nothing.
bool begin_graph(void* stream);
void* end_graph(void* stream);
bool launch_graph(void* graph, void* stream);
void destroy_graph(void* graph);

}  // namespace bora::cuda
