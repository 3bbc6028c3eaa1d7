// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "state.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stand_in {
namespace {

thread_local cudaError_t last = cudaSuccess;
thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;
thread_local std::set<std::uint64_t> begun_here;
thread_local int current = 0;

std::string readable(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : name;
  std::free(text);
  return out;
}

}  // namespace

State& state() {
  static auto* const all = [] {
    auto* made = new State;
    made->total = static_cast<std::size_t>(told("STAND_IN_GIB", 80)) << 30;
    return made;
  }();
  return *all;
}

int told(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

int& current_device() { return current; }

void join(Clock& into, const Clock& from) {
  for (const auto& [stream, work] : from) into[stream] = std::max(into[stream], work);
}

Stream& of(cudaStream_t stream) {
  const bool standard =
      reinterpret_cast<std::uintptr_t>(stream) <= 2;  // cudaStreamLegacy, cudaStreamPerThread
  if (!standard) return *reinterpret_cast<Stream*>(stream);
  auto& own = state().standard[current];
  own.device = current;
  return own;
}
Event& of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

cudaError_t refuse(cudaError_t error, const char* call, const std::string& why) {
  last = error;
  std::fprintf(stderr, "stand-in: %s: %s: %s\n", call, cudaGetErrorName(error), why.c_str());
  return error;
}

cudaError_t allowed(const char* call) {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const auto& capture : state().running) {
    const bool is_own = begun_here.contains(capture->id);
    if (capture->mode == cudaStreamCaptureModeRelaxed ||
        (capture->mode == cudaStreamCaptureModeThreadLocal && !is_own))
      continue;
    capture->broken = true;
    return refuse(cudaErrorStreamCaptureUnsupported, call, "not while a stream is captured");
  }
  return cudaSuccess;
}

void carry_out(const Copy& copy) {
  static const int byte = told("STAND_IN_BYTE", 0);
  if (copy.to == nullptr) return;
  if (copy.from != nullptr) {
    std::memmove(copy.to, copy.from, copy.bytes);
    return;
  }
  std::memset(copy.to, copy.bytes > sizeof(double) ? byte : 0, copy.bytes);  // one number may be an index
}

namespace {

bool is_standard(const Stream& stream) { return &stream == &state().standard[stream.device]; }

// Copies may go to a stream of another device, but nothing else may.
cudaError_t on_own_device(const Stream& stream, const char* call, const std::string& what) {
  ++state().calls["on device " + std::to_string(stream.device)];
  if (stream.device == current) return cudaSuccess;
  return refuse(cudaErrorInvalidResourceHandle, call,
                what + ": a stream of device " + std::to_string(stream.device) + ", and the thread's is " +
                    std::to_string(current));
}

}  // namespace

cudaError_t give(cudaStream_t to, const char* call, const std::string& kernel, const Copy* copy) {
  auto& stream = of(to);
  if (copy == nullptr) {
    if (const auto error = on_own_device(stream, call, readable(kernel)); error != cudaSuccess) return error;
  }
  if (is_standard(stream)) {
    for (const auto& capture : state().running) {
      if (std::ranges::all_of(capture->streams,
                              [](auto* s) { return (s->flags & cudaStreamNonBlocking) != 0; }))
        continue;
      capture->broken = true;
      return refuse(cudaErrorStreamCaptureImplicit, call,
                    "the default stream waits for one that is captured");
    }
  }
  stream.seen[&stream] = ++stream.work;
  const std::string name = readable(kernel);
  if (stream.capture == nullptr) {
    if (!name.empty()) ++state().launches[name];
    if (copy != nullptr) carry_out(*copy);
    return cudaSuccess;
  }
  if (stream.capture->broken) return refuse(cudaErrorStreamCaptureInvalidated, call, name);
  if (!name.empty()) ++stream.capture->graph.launches[name];
  if (copy != nullptr) stream.capture->graph.copies.push_back(*copy);
  return cudaSuccess;
}

namespace {

// STAND_IN_REPORT: a file of lines "KIND COUNT NAME" for each process.
void report() {
  const char* file = std::getenv("STAND_IN_REPORT");
  if (file == nullptr) return;
  std::FILE* out = std::fopen((file + ("." + std::to_string(::getpid()))).c_str(), "w");
  if (out == nullptr) return;
  const auto tell = [&](const char* kind, const std::map<std::string, std::int64_t>& all) {
    for (const auto& [name, count] : all)
      std::fprintf(out, "%s %lld %s\n", kind, static_cast<long long>(count), name.c_str());
  };
  tell("call", state().calls);
  tell("launch", state().launches);
  tell("noted", state().noted);
  std::fclose(out);
}

}  // namespace
}  // namespace stand_in

using stand_in::Call, stand_in::Capture, stand_in::Event, stand_in::Graph, stand_in::Stream,
    stand_in::allowed, stand_in::of, stand_in::refuse, stand_in::state;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {

void stand_in_report() { stand_in::report(); }
void stand_in_has_no(const char* name) {
  std::fprintf(stderr, "stand-in: there is no %s\n", name);
  std::abort();
}
int stand_in_give(const char* kernel, void* stream) {
  const std::lock_guard hold(state().lock);
  return stand_in::give(static_cast<cudaStream_t>(stream), kernel, kernel);
}

const char* cudaGetErrorName(cudaError_t error) {
  static thread_local char text[32];
  std::snprintf(text, sizeof text, "error %d", static_cast<int>(error));
  return text;
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return std::exchange(stand_in::last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return stand_in::last; }

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, stand_in::mode_of_thread);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t to, cudaStreamCaptureMode mode) {
  const Call call("cudaStreamBeginCapture");
  auto& stream = of(to);
  if (stand_in::is_standard(stream) || stream.capture != nullptr)
    return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture", "of this stream");
  stream.capture = std::make_shared<Capture>(Capture{.mode = mode, .id = ++state().captures});
  stream.capture->streams.insert(&stream);
  stream.began_it = true;
  stream.seen = {{&stream, stream.work}};
  stand_in::begun_here.insert(stream.capture->id);
  state().running.insert(stream.capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t to, cudaGraph_t* graph) {
  const Call call("cudaStreamEndCapture");
  auto& stream = of(to);
  *graph = nullptr;
  const auto capture = stream.capture;
  if (capture == nullptr) return refuse(cudaErrorIllegalState, "cudaStreamEndCapture", "none was begun");
  const bool began_it = stream.began_it;
  bool all_came_back = true;
  for (auto* each : capture->streams) {
    if (each != &stream && stream.seen[each] < each->work) all_came_back = false;
    each->capture = nullptr;
    each->began_it = false;
  }
  state().running.erase(capture);
  stand_in::begun_here.erase(capture->id);
  if (!began_it) return refuse(cudaErrorStreamCaptureUnmatched, "cudaStreamEndCapture", "of another stream");
  if (capture->broken)
    return refuse(cudaErrorStreamCaptureInvalidated, "cudaStreamEndCapture", "broken before");
  if (!all_came_back)
    return refuse(cudaErrorStreamCaptureUnjoined, "cudaStreamEndCapture", "a stream has not come back");
  *graph = reinterpret_cast<cudaGraph_t>(new Graph(capture->graph));
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Call call("cudaStreamIsCapturing");
  const auto& capture = of(stream).capture;
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->broken  ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  const Call call("cudaStreamGetCaptureInfo");
  cudaStreamIsCapturing(stream, status);
  if (id != nullptr) *id = of(stream).capture == nullptr ? 0 : of(stream).capture->id;
  if (graph != nullptr) *graph = nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  const Call call("cudaGraphInstantiateWithFlags");
  *out = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Call call("cudaGraphLaunch");
  const auto& graph = *reinterpret_cast<Graph*>(exec);
  for (const auto& [name, count] : graph.launches) state().noted[name] += count;
  for (const auto& copy : graph.copies) stand_in::carry_out(copy);
  return stand_in::give(stream, "cudaGraphLaunch", "");
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* /*nodes*/, size_t* count) {
  *count = reinterpret_cast<Graph*>(graph)->launches.size();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int /*priority*/) {
  const Call call("cudaStreamCreate");
  *out = reinterpret_cast<cudaStream_t>(new Stream{.flags = flags, .device = stand_in::current_device()});
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithPriority(out, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t /*stream*/) { return cudaSuccess; }  // events may still name it
cudaError_t cudaStreamGetPriority(cudaStream_t /*stream*/, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call("cudaStreamQuery");
  if (of(stream).capture == nullptr) return allowed("cudaStreamQuery");
  of(stream).capture->broken = true;
  return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamQuery", "it is captured");
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call("cudaStreamSynchronize");
  if (of(stream).capture == nullptr) return allowed("cudaStreamSynchronize");
  of(stream).capture->broken = true;
  return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamSynchronize", "it is captured");
}
cudaError_t cudaDeviceSynchronize() {
  const Call call("cudaDeviceSynchronize");
  return allowed("cudaDeviceSynchronize");
}
cudaError_t cudaStreamWaitEvent(cudaStream_t to, cudaEvent_t for_event, unsigned /*flags*/) {
  const Call call("cudaStreamWaitEvent");
  auto& stream = of(to);
  const auto& event = of(for_event);
  const bool is_captured = event.capture != nullptr && state().running.contains(event.capture);
  if (is_captured && stream.capture == nullptr) {
    if (stand_in::is_standard(stream))
      return refuse(cudaErrorStreamCaptureImplicit, "cudaStreamWaitEvent", "the default stream");
    stream.capture = event.capture;
    event.capture->streams.insert(&stream);
  } else if (is_captured && stream.capture != event.capture) {
    return refuse(cudaErrorStreamCaptureMerge, "cudaStreamWaitEvent", "of another capture");
  } else if (!is_captured && stream.capture != nullptr && !event.seen.empty()) {
    stream.capture->broken = true;
    return refuse(cudaErrorStreamCaptureIsolation, "cudaStreamWaitEvent", "for what is not captured");
  }
  join(stream.seen, event.seen);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned /*flags*/) {
  const Call call("cudaEventCreate");
  *out = reinterpret_cast<cudaEvent_t>(new Event{.device = stand_in::current_device()});
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Call call("cudaEventRecord");
  if (of(event).device != of(stream).device)
    return refuse(cudaErrorInvalidResourceHandle, "cudaEventRecord", "an event and a stream of two devices");
  of(event) = {of(event).device, of(stream).seen, of(stream).capture};
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned /*flags*/) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call("cudaEventQuery");
  if (of(event).capture != nullptr && state().running.contains(of(event).capture))
    return refuse(cudaErrorCapturedEvent, "cudaEventQuery", "it is captured");
  return allowed("cudaEventQuery");
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call("cudaEventSynchronize");
  if (of(event).capture != nullptr && state().running.contains(of(event).capture))
    return refuse(cudaErrorCapturedEvent, "cudaEventSynchronize", "it is captured");
  return allowed("cudaEventSynchronize");
}
cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t /*begin*/, cudaEvent_t /*end*/) {
  *out = 1;
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)
