// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a device's plug-in brings beside libtorch's ops for it.
#pragma once
#include <cstdint>
#include <string>

#include "bora/core/device.h"

namespace bora::kernels {
struct AdamW;
}  // namespace bora::kernels

namespace bora::core {

/// A device's own kernels, each in the place of a plain op (core/plain), which is computed where an entry is
/// null or a PlainOpsScope lives. They get the addresses of contiguous arrays on the device, sizes, and the stream to work on: a
/// plug-in needs no header of libtorch. An entry returns before it is done. Its result is within rounding of
/// the plain op's, and the same every time.
struct DeviceKernels {
  using Stream = void*;  ///< as the device's own library has it (cudaStream_t)

  /// kernels::adamw of n elements, in place.
  void (*adamw)(std::int64_t n, const kernels::AdamW& step, float* parameter, const float* gradient,
                float* mean, float* square, Stream stream) = nullptr;
  /// into += from, of n elements: the additions of the lane tree.
  void (*add_into)(std::int64_t n, float* into, const float* from, Stream stream) = nullptr;
  /// `out`: one number, the largest |x| of n elements; NaN if an element is not finite.
  void (*max_abs)(std::int64_t n, const float* x, float* out, Stream stream) = nullptr;
  /// `out`: kernels::SquareSum::Numbers of n elements, exactly; `largest`: what max_abs wrote. Where that is
  /// NaN, of no meaning.
  void (*square_numbers)(std::int64_t n, const float* x, const float* largest, double* out,
                         Stream stream) = nullptr;

  // Norms of the rows of x [rows, n]; `weight`, `bias` [n] and their gradients may be null. As the CPU's, in
  // kernels/cpu/norm.h. Forward and backward are both there, or neither.
  struct RmsNorm {
    void (*forward)(std::int64_t rows, std::int64_t n, const float* x, const float* weight, float eps,
                    float* y, float* rstd, Stream stream) = nullptr;
    void (*backward)(std::int64_t rows, std::int64_t n, const float* x, const float* weight,
                     const float* rstd, const float* dy, float* dx, float* dweight, Stream stream) = nullptr;
  } rms_norm;
  struct LayerNorm {
    void (*forward)(std::int64_t rows, std::int64_t n, const float* x, const float* weight, const float* bias,
                    float eps, float* y, float* mean, float* rstd, Stream stream) = nullptr;
    void (*backward)(std::int64_t rows, std::int64_t n, const float* x, const float* weight,
                     const float* mean, const float* rstd, const float* dy, float* dx, float* dweight,
                     float* dbias, Stream stream) = nullptr;
  } layer_norm;
};

/// Bytes of arrays on a device: now, and the most since start.
struct DeviceMemory {
  std::int64_t live = 0, peak = 0;
};

/// What a plug-in says of a type of device when it is opened.
struct DeviceSupport {
  DeviceKernels kernels;
  DeviceMemory (*memory)(std::int8_t index) = nullptr;
  std::string (*description)(std::int8_t index) = nullptr;  ///< "NVIDIA H100 80GB"
};
/// Before the first array is made there. The last one counts.
void register_device(Device::Type type, const DeviceSupport& support);

/// How many devices of a type there are for this program: one CPU.
int device_count(Device::Type type);
/// Of a device, as its plug-in has said: its name, where it has said nothing.
std::string description(Device device);
DeviceMemory device_memory(Device device);

}  // namespace bora::core
