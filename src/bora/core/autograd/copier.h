// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: a device's stream of copies (DeviceKernels::Copies), and the pinned memory that they go to and come from.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "bora/core/torch/device.h"

namespace bora::core::autograd {

/// Two streams, ordered as this says and by nothing else: a copy begins after all that the array's stream was given before
/// it, and that stream goes on after a copy when it waits for it. Until then the array is neither written nor given back.
/// All events that are waited for are recorded in the same pass, so that a pass can be noted.
class Copier {
 public:
  /// Pinned memory and the event of the last copy from or to it.
  struct Place {
    void* memory = nullptr;
    std::int64_t bytes = 0;
    void* done = nullptr;
  };

  /// Whether the device of x has such copies.
  static bool is_there(const at::Tensor& x);
  /// That of its device, to the end of the program.
  static Copier& of(const at::Tensor& x);

  explicit Copier(const at::Tensor& x);

  /// One that was given back, or else a new one: Io error if it cannot be had. It may be given back as soon as its last copy
  /// was begun, since copies are done one after another.
  Place take(std::int64_t bytes);
  void give_back(const Place& place);

  void begin_out(const at::Tensor& x, const Place& place);  ///< x, without gaps, to the place
  void begin_back(const at::Tensor& x, const Place& place);
  /// x's stream goes on when the last copy of the place is done.
  void wait(const at::Tensor& x, const Place& place);
  /// The same for the end of what has failed: whether the device takes it.
  bool try_to_wait(const at::Tensor& x, const Place& place) noexcept;

  std::int64_t bytes();  ///< taken so far

 private:
  void begin(const at::Tensor& x, const Place& place, bool out);
  [[noreturn]] void refuse(const char* what, std::int64_t bytes) const;

  Device device_;
  DeviceKernels::Copies copies_;
  DeviceKernels::Stream stream_ = nullptr;
  void* ready_ = nullptr;  // what a copy begins after
  std::mutex mutex_;
  std::vector<Place> free_;
  std::int64_t bytes_ = 0;
};

}  // namespace bora::core::autograd
