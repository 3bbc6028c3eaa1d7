// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Nothing here is linked with CUDA: on most machines its part of libtorch is not there.
#include "bora/core/cuda_engine.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <exception>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/core/cuda_facts.h"
#include "bora/core/cuda_plugin.h"
#include "bora/core/cudnn_plugin.h"
#include "bora/core/device_extras.h"
#include "bora/core/device_kernels.h"
#include "bora/core/runtime.h"

namespace bora::core {
namespace {

// libtorch gives cuBLAS what CUBLAS_WORKSPACE_CONFIG says, 8 times 4096 KiB, for each stream (CublasHandlePool.cpp), and
// cuBLASLt 1 MiB if nobody says more: too little to cut a sum of a product with few results, as that of a weight in fp8,
// into parts for all multiprocessors. Products with an activation get 4 MiB (DeviceKernels::ActivatedProduct). A context of
// CUDA 13, whose kernels are loaded when they are first called: some 500 MB on an H100, read of others and not measured here.
constexpr const char* kWorkspaces = ":4096:8";
constexpr const char* kWorkspaceOfLt = "32768";  // KiB
constexpr DeviceExtras kExtras{.of_each_stream = std::int64_t{68} << 20, .beside = 500'000'000};

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

DeviceMemory memory_of(std::int8_t index) {
  auto* const allocator = c10::getDeviceAllocator(c10::kCUDA);
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto bytes = allocator->getDeviceStats(index).allocated_bytes[kAll];
  const auto [free, total] = allocator->getMemoryInfo(index);
  return {bytes.current, bytes.peak, static_cast<std::int64_t>(total), static_cast<std::int64_t>(free)};
}

// Parts of segments that can grow, too, which are not freed as segments.
std::int64_t times_given_back_of(std::int8_t index) {
  return c10::getDeviceAllocator(c10::kCUDA)->getDeviceStats(index).num_device_free;
}

bool (*plugin_has_kernels)(int gpu) = nullptr;
bool has_kernels_for(std::int8_t index) { return plugin_has_kernels == nullptr || plugin_has_kernels(index); }

void count_anew_of(std::int8_t index) { c10::getDeviceAllocator(c10::kCUDA)->resetPeakStats(index); }

std::string description_of(std::int8_t index) {
  const auto gpus = cuda_facts().gpus;
  const std::size_t at = static_cast<std::uint8_t>(index);
  return at < gpus.size() ? gpus[at].name : "GPU";
}

// cuBLAS sums in another order where two streams share its workspace.
void keep_one_order(at::Context& context) {
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowBF16ReductionCuBLAS(false);
  context.setAllowFP16ReductionCuBLAS(false);
}

std::string open() {
  const auto facts = cuda_facts();
  if (facts.state() != CudaFacts::State::ready) return "";
  const auto folder = parent_path(runtime_info().libtorch_file);
  const auto library = path_join(folder, "libtorch_cuda.so");
  if (!exists(library)) return fmt::format("the libtorch in {} has no part for CUDA", folder);
  env::prefer("CUBLAS_WORKSPACE_CONFIG", kWorkspaces);
  env::prefer("CUBLASLT_WORKSPACE_SIZE", kWorkspaceOfLt);
  env::prefer("CUDNN_FRONTEND_CUDART_LIB_NAME",
              "libcudart.so.13");  // else it takes an older one that it finds
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    return fmt::format("{} cannot be loaded: {}", library, ::dlerror());
  try {
    auto& context = at::globalContext();
    keep_one_order(context);
    context.lazyInitDevice(c10::kCUDA);
    const auto plugin = load_cuda_plugin();
    const int count = device_count(Device::Type::cuda);
    plugin_has_kernels = plugin.has_kernels;
    register_device(Device::Type::cuda, {.kernels = plugin.kernels,
                                         .has_kernels = has_kernels_for,
                                         .memory = memory_of,
                                         .description = description_of,
                                         .times_given_back = times_given_back_of,
                                         .count_anew = count_anew_of});
    register_device_extras(Device::Type::cuda, kExtras);
    register_attention_library(Device::Type::cuda, load_cudnn_plugin());
    return count > 0 ? "" : "libtorch's part for CUDA sees none";
  } catch (const std::exception& e) {
    return "libtorch's part for CUDA does not start: " + first_line_of(e.what());
  }
}

}  // namespace

const std::string& open_cuda_engine() {
  static const std::string why_not = open();
  return why_not;
}

}  // namespace bora::core
