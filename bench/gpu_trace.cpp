// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What a program asks a GPU to do, written down by the driver itself, for machines without Nsight Systems:
//
//   CUDA_INJECTION64_PATH=libgpu_trace.so GPU_TRACE=trace.csv bora bench train --device cuda ...
//
// One line for each kernel, copy and fill: kind,begin,end,stream,graph,bytes,name (nanoseconds of the GPU's clock; also
// those within CUDA graphs), and one for each call that may wait: wait,begin,end,thread,0,0,name. Interface: "CUPTI
// Activity API", docs.nvidia.com/cupti.
#include <cupti.h>
#include <cxxabi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

namespace {

constexpr std::size_t kBuffer = std::size_t{8} << 20;
constexpr std::size_t kAlignment = 8;

std::FILE* out = nullptr;
std::mutex writing;

struct Free {
  void operator()(char* text) const { std::free(text); }
};

using ull = unsigned long long;

void line(const char* kind, std::uint64_t begin, std::uint64_t end, unsigned stream, unsigned graph,
          std::uint64_t bytes, const char* name) {
  int status = 0;
  const std::unique_ptr<char, Free> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  std::fprintf(out, "%s,%llu,%llu,%u,%u,%llu,\"%s\"\n", kind, static_cast<ull>(begin), static_cast<ull>(end),
               stream, graph, static_cast<ull>(bytes), status == 0 ? plain.get() : name);
}

bool may_wait(const char* name) { return std::strstr(name, "Synchronize") != nullptr; }

void api_line(const CUpti_ActivityAPI& call) {
  const char* name = nullptr;
  const auto domain =
      call.kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (cuptiGetCallbackName(domain, call.cbid, &name) == CUPTI_SUCCESS && may_wait(name)) {
    line("wait", call.start, call.end, call.threadId, 0, 0, name);
  }
}

void record_line(CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<CUpti_ActivityKernel10*>(record);
      line("kernel", kernel.start, kernel.end, kernel.streamId, kernel.graphId, 0, kernel.name);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<CUpti_ActivityMemcpy6*>(record);
      line("copy", copy.start, copy.end, copy.streamId, copy.graphId, copy.bytes,
           copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "to the device"
           : copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "to the host"
                                                              : "within the device");
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = *reinterpret_cast<CUpti_ActivityMemset4*>(record);
      line("fill", fill.start, fill.end, fill.streamId, fill.graphId, fill.bytes, "fill");
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      api_line(*reinterpret_cast<CUpti_ActivityAPI*>(record));
      break;
    default:
      break;
  }
}

void CUPTIAPI new_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBuffer));
  *size = kBuffer;
  *records = 0;
}

void CUPTIAPI write_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used) {
  {
    const std::lock_guard lock(writing);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
      record_line(record);
    }
    std::fflush(out);
  }
  std::free(buffer);
}

}  // namespace

/// The driver calls it when CUDA starts.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("GPU_TRACE");
  if (path == nullptr || (out = std::fopen(path, "w")) == nullptr) {
    return 1;
  }
  cuptiActivityRegisterCallbacks(new_buffer, write_buffer);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME}) {
    if (cuptiActivityEnable(kind) != CUPTI_SUCCESS) {
      std::fprintf(stderr, "gpu_trace: CUPTI does not record activities of kind %d\n",
                   static_cast<int>(kind));
    }
  }
  // again and again: when the program ends, CUDA has ended before
  std::thread([] {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    }
  }).detach();
  return 1;
}
