// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "host_devices.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "../add.h"

namespace bora::nccl::testing {

HostDevices& host_devices() {
  static HostDevices devices;
  return devices;
}

namespace {

using Work = std::function<bool()>;  // whether it is done

struct World {
  int joined = 0;
  std::map<int, int> devices;                                            // by rank
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> letters;  // by (from, to)
  struct Split {
    std::map<int, std::pair<int, int>> values;  // (color, key) by rank
    std::map<int, std::shared_ptr<World>> parts;
  };
  std::map<int, Split> splits;
};

std::mutex mutex;  // of all below
std::map<std::array<char, NCCL_UNIQUE_ID_BYTES>, std::shared_ptr<World>> worlds;
std::string last_error;
thread_local int device = 0;
struct Grouped {
  ncclComm_t comm;
  CUstream_st* stream;
  bool sends;
  Work work;
};
thread_local std::vector<Grouped> group;
thread_local bool grouped = false;

}  // namespace
}  // namespace bora::nccl::testing

using namespace bora::nccl::testing;  // what follows are C functions

struct CUstream_st {
  std::deque<Work> work;
  std::size_t done = 0, given = 0;
};
struct CUevent_st {
  CUstream_st* stream = nullptr;
  std::size_t after = 0;
};
struct ncclComm {
  std::shared_ptr<World> world;
  int rank = 0, size = 1, splits = 0, asked = 0;
  ncclResult_t state = ncclInProgress;
  std::function<bool()> pending;  // what ncclInProgress waits for
};

namespace {

ncclResult_t failure(std::string_view call) {
  if (host_devices().failing != call) return ncclSuccess;
  const std::lock_guard lock(mutex);
  last_error = "the cable is out";
  return ncclRemoteError;
}

void give(CUstream_st* stream, Work work) {
  stream->work.push_back(std::move(work));
  ++stream->given;
}

bool has_come_to(CUstream_st& stream, std::size_t after) {
  while (stream.done < after && stream.work.front()()) {
    stream.work.pop_front();
    ++stream.done;
  }
  return stream.done >= after;
}

ncclResult_t in_group(ncclComm_t comm, cudaStream_t stream, Work work, bool sends = false) {
  group.push_back({comm, stream, sends, std::move(work)});
  return grouped ? ncclSuccess : ncclGroupEnd();
}

bool take(const ncclComm& comm, int from, std::vector<char>& letter) {
  const std::lock_guard lock(mutex);
  auto& box = comm.world->letters[{from, comm.rank}];
  if (box.empty()) return false;
  letter = std::move(box.front());
  box.pop_front();
  return true;
}

void post(const ncclComm& comm, int to, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const char*>(from);
  const std::lock_guard lock(mutex);
  comm.world->letters[{comm.rank, to}].emplace_back(begin, begin + bytes);
}

}  // namespace

namespace bora::nccl {

cudaError_t add_into(std::size_t n, float* into, const float* from, cudaStream_t stream) {
  give(stream, [=] {
    for (std::size_t i = 0; i < n; ++i) into[i] += from[i];
    return true;
  });
  return cudaSuccess;
}

}  // namespace bora::nccl

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = host_devices().devices;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int d) {
  if (d >= host_devices().devices) return cudaErrorInvalidDevice;
  device = d;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorInvalidDevice ? "invalid device ordinal" : "no CUDA-capable device is detected";
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "host");
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  give(stream, [=] {
    std::memcpy(to, from, bytes);
    return true;
  });
  return cudaSuccess;
}
// What the default stream is given is done when the call returns; the others are waited for by events.
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream == nullptr ? cudaSuccess : cudaErrorNotSupported;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *event = {stream, stream->given};
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return has_come_to(*event->stream, event->after) ? cudaSuccess : cudaErrorNotReady;
}
// The other stream goes on by itself: what is waited for is done as far as it can be.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  give(stream, [of = event->stream, after = event->after] { return has_come_to(*of, after); });
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* bus, int room, int d) {
  if (d >= host_devices().devices) return cudaErrorInvalidDevice;
  std::snprintf(bus, static_cast<std::size_t>(room), "0000:%02x:00.0", d);
  return cudaSuccess;
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "remote process exited";
}
const char* ncclGetLastError(ncclComm_t) {
  const std::lock_guard lock(mutex);
  return last_error.c_str();
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock(mutex);
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id, &++next, sizeof(next));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;
  std::array<char, NCCL_UNIQUE_ID_BYTES> key;
  std::memcpy(key.data(), &id, sizeof(id));
  const std::lock_guard lock(mutex);
  auto& world = worlds[key];
  if (!world) world = std::make_shared<World>();
  ++world->joined;
  world->devices[rank] = device;
  *comm = new ncclComm{world, rank, size};
  (*comm)->pending = [c = *comm] {
    const std::lock_guard inner(mutex);
    if (c->world->joined < c->size) return false;
    for (const auto& [r, d] : c->world->devices) {
      if (r == c->rank || d != c->world->devices[c->rank]) continue;
      c->state = ncclInvalidUsage;
      last_error = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 7\n";
      return false;
    }
    return true;
  };
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (comm->state == ncclInProgress && ++comm->asked > 2 && comm->pending()) {
    comm->state = ncclSuccess;
    comm->asked = 0;
  }
  *state = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  grouped = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  grouped = false;
  if (group.empty()) return ncclSuccess;
  auto* comm = group[0].comm;
  if (comm->state != ncclSuccess) return ncclInvalidUsage;
  comm->state = ncclInProgress;
  // All of a group goes at once: nothing that comes keeps back what leaves.
  std::stable_partition(group.begin(), group.end(), [](const Grouped& g) { return g.sends; });
  comm->pending = [work = std::exchange(group, {})] {
    for (const auto& g : work) give(g.stream, g.work);
    return true;
  };
  return ncclInProgress;
}
ncclResult_t ncclSend(const void* from, std::size_t n, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (const auto bad = failure("ncclSend"); bad != ncclSuccess) return bad;
  return in_group(
      comm, stream,
      [=] {
        post(*comm, peer, from, n);
        return true;
      },
      true);
}
ncclResult_t ncclRecv(void* to, std::size_t n, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return in_group(comm, stream, [=] {
    std::vector<char> letter;
    if (!take(*comm, peer, letter)) return false;
    if (letter.size() != n) std::abort();
    std::memcpy(to, letter.data(), n);
    return true;
  });
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t n, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  auto came = std::make_shared<std::vector<std::vector<char>>>();
  return in_group(comm, stream, [=] {
    if (came->empty())
      for (int w = 0; w < comm->size; ++w) post(*comm, w, from, n * sizeof(float));
    came->resize(static_cast<std::size_t>(comm->size));
    for (int w = 0; w < comm->size; ++w) {
      auto& letter = (*came)[static_cast<std::size_t>(w)];
      if (letter.empty() && !take(*comm, w, letter)) return false;
    }
    auto* out = static_cast<float*>(to);
    std::fill(out, out + n, 0.0F);
    for (const auto& letter : *came) {
      for (std::size_t i = 0; i < n; ++i) {
        float value = 0;
        std::memcpy(&value, letter.data() + i * sizeof(float), sizeof(value));
        out[i] += value;
      }
    }
    return true;
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;
  const std::lock_guard lock(mutex);
  const int n = comm->splits++;
  comm->world->splits[n].values[comm->rank] = {color, key};
  comm->state = ncclInProgress;
  comm->pending = [=] {
    const std::lock_guard inner(mutex);
    auto& split = comm->world->splits[n];
    if (static_cast<int>(split.values.size()) < comm->size) return false;
    auto& world = split.parts[color];
    if (!world) world = std::make_shared<World>();
    int rank = 0, size = 0;
    for (const auto& [r, value] : split.values) {
      if (value.first != color) continue;
      ++size;
      rank += std::pair(value.second, r) < std::pair(key, comm->rank) ? 1 : 0;
    }
    *part = new ncclComm{world, rank, size, 0, 0, ncclSuccess, {}};
    return true;
  };
  return ncclInProgress;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->state = ncclInProgress;
  comm->pending = [] { return true; };
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
}
