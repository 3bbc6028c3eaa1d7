// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: an NVIDIA driver (libcuda and NVML in one) without a GPU, which says what the environment tells it to:
// by default two GPUs of a driver for CUDA 13.0, of which the second hides what is free.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int told(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

constexpr std::size_t kGiB = std::size_t{1} << 30;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {

int cuDriverGetVersion(int* version) {
  *version = told("STAND_IN_CUDA", 13000);
  return told("STAND_IN_VERSION_RESULT", 0);
}
int cuInit(unsigned /*flags*/) { return told("STAND_IN_INIT_RESULT", 0); }
int cuGetErrorName(int error, const char** name) {
  if (error != 803) return 1;
  *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = told("STAND_IN_GPUS", 2);
  return told("STAND_IN_COUNT_RESULT", 0);
}
int cuDeviceGet(int* gpu, int index) {
  *gpu = index + 7;  // not its index
  return 0;
}
int cuDeviceGetName(char* name, int room, int gpu) {
  std::snprintf(name, static_cast<std::size_t>(room), "Stand-in %d", gpu - 7);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int gpu) {
  const int major = told("STAND_IN_MAJOR", 9);
  if (attribute == 75) *value = gpu == 7 ? told("STAND_IN_MAJOR_OF_FIRST", major) : major;
  if (attribute == 76) *value = gpu - 7;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int gpu) {
  *bytes = (gpu == 7 ? 80 : 40) * kGiB;
  return 0;
}
int cuDeviceGetPCIBusId(char* bus, int room, int gpu) {
  std::snprintf(bus, static_cast<std::size_t>(room), "0000:%02d:00.0", gpu);
  return 0;
}

int nvmlInit_v2() { return told("STAND_IN_NVML_RESULT", 0); }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned room) {
  std::snprintf(text, room, "580.65.06");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** gpu) {
  static int first;
  *gpu = &first;
  return std::strcmp(bus, "0000:07:00.0") == 0 ? 0 : 4;
}
int nvmlDeviceGetMemoryInfo(void* /*gpu*/, unsigned long long* memory) {
  memory[0] = 80 * kGiB;
  memory[1] = static_cast<unsigned long long>(told("STAND_IN_FREE_GIB", 70)) * kGiB;
  memory[2] = memory[0] - memory[1];
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
