// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "graph.h"

#include <cuda_runtime.h>

namespace bora::cuda {
namespace {

cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }

// An error that is told here is not told once more by the next call.
bool went(cudaError_t error) {
  if (error == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

}  // namespace

// Other threads may allocate and copy meanwhile.
bool begin_graph(void* stream) {
  return went(cudaStreamBeginCapture(of(stream), cudaStreamCaptureModeThreadLocal));
}

void* end_graph(void* stream) {
  cudaGraph_t graph = nullptr;
  if (!went(cudaStreamEndCapture(of(stream), &graph)) || graph == nullptr) return nullptr;
  cudaGraphExec_t made = nullptr;
  const bool well = went(cudaGraphInstantiateWithFlags(&made, graph, 0));
  went(cudaGraphDestroy(graph));
  return well ? made : nullptr;
}

bool launch_graph(void* graph, void* stream) {
  return went(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), of(stream)));
}

void destroy_graph(void* graph) { went(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph))); }

}  // namespace bora::cuda
