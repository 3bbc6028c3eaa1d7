// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "copies.h"

#include <cuda_runtime.h>

namespace bora::cuda {
namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// An error that is told here is not told once more by the next call.
bool done(cudaError_t error) {
  if (error == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

// What make() makes on the device; the thread's own device is the same afterwards.
template <class T, class F>
void* made_on(int device, const F& make) {
  int before = 0;
  T made = nullptr;
  if (!done(cudaGetDevice(&before)) || !done(cudaSetDevice(device))) return nullptr;
  const bool well = done(make(&made));
  return done(cudaSetDevice(before)) && well ? made : nullptr;
}

}  // namespace

void* pinned(std::int64_t bytes) {
  void* memory = nullptr;
  return done(cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable)) ? memory : nullptr;
}

// It does not wait for the default stream, nor that for it.
void* copy_stream(std::int8_t device) {
  return made_on<cudaStream_t>(
      device, [](cudaStream_t* made) { return cudaStreamCreateWithFlags(made, cudaStreamNonBlocking); });
}

void* copy_event(std::int8_t device) {
  return made_on<cudaEvent_t>(
      device, [](cudaEvent_t* made) { return cudaEventCreateWithFlags(made, cudaEventDisableTiming); });
}

bool record_event(void* event, void* stream) {
  return done(cudaEventRecord(event_of(event), stream_of(stream)));
}

bool wait_for_event(void* stream, void* event) {
  return done(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}

bool begin_copy(void* to, const void* from, std::int64_t bytes, void* stream) {
  return done(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream_of(stream)));
}

}  // namespace bora::cuda
