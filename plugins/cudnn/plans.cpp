// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "plans.h"

#include <fmt/core.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "bora/base/error.h"
#include "device.h"
#include "graphs.h"
#include "sdpa.h"

namespace bora::cudnn {
namespace {

using core::AttentionArrays;
using core::AttentionPlan;

// While it lives, this thread's calls of CUDA go to a device.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (const int status = set_device(device, &before_); status != 0)
      fail(ErrorKind::Unsupported, "cuDNN: device {}: CUDA error {}", device, status);
  }
  ~OnDevice() { set_device(before_, nullptr); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// A pass in parts, backward as many as room allows.
struct Made : core::ReadyAttention {
  Parts forward_parts, backward_parts;
  std::unique_ptr<Graph> forward, backward;
};
Made refused(const AttentionPlan& plan, std::string why) {
  Made out;
  out.plan = plan;
  out.why_not = std::move(why);
  return out;
}

Made made(const Target& target, const AttentionPlan& plan) try {
  const auto parts = parts_of(plan);
  if (!parts || count(plan, *parts) > kMostParts)
    return refused(plan, fmt::format("gradients of scores that take more than {} parts of {} MB", kMostParts,
                                     kMostRoom >> 20));
  Made out;
  out.plan = plan;
  out.forward_parts = forward_parts(plan, *parts);
  out.backward_parts = *parts;
  out.forward = std::make_unique<Graph>(target, sdpa_of(plan, out.forward_parts), false);
  out.backward = std::make_unique<Graph>(target, sdpa_of(plan, out.backward_parts), true);
  if (out.backward->room() > kMostBytes)
    return refused(plan, fmt::format("a backward pass that takes {} MB", out.backward->room() >> 20));
  out.forward_room = out.forward->room();
  out.backward_room = out.backward->room();
  return out;
} catch (const Error& e) {
  return refused(plan, e.what());
}

// Of one device. A handle serves one thread at a time.
struct OfDevice {
  Target target;
  std::map<AttentionPlan, Made> plans;

  explicit OfDevice(std::int8_t device) : target(device) {}
  const Made& get(const AttentionPlan& plan) {
    const auto it = plans.find(plan);
    return it != plans.end() ? it->second : plans.emplace(plan, made(target, plan)).first->second;
  }
};

std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}
OfDevice& of_device(std::int8_t device) {
  static auto& all = *new std::map<std::int8_t, OfDevice>;  // cuDNN may be gone before the end
  const auto it = all.find(device);
  return it != all.end() ? it->second : all.try_emplace(device, device).first->second;
}

template <class F>
void each_part(const AttentionPlan& plan, const Parts& parts, const AttentionArrays& arrays, const F& run) {
  for (std::int64_t head = 0; head < plan.kv_heads; head += parts.kv_heads)
    for (std::int64_t first = 0; first < plan.batch; first += parts.batch)
      run(arrays_of(plan, first, head, arrays));
}

}  // namespace

const core::ReadyAttention& ready(const AttentionPlan& plan, std::int8_t device) try {
  const std::lock_guard locked(lock());
  const OnDevice here(device);
  return of_device(device).get(plan);
} catch (const Error& e) {
  static thread_local Made none;
  return none = refused(plan, e.what());
}

void forward(const core::ReadyAttention& by, std::int8_t device, AttentionArrays arrays, void* stream) {
  const std::lock_guard locked(lock());
  const OnDevice here(device);
  const auto& made = static_cast<const Made&>(by);
  each_part(by.plan, made.forward_parts, arrays,
            [&](const AttentionArrays& part) { made.forward->run(of_device(device).target, part, stream); });
}

void backward(const core::ReadyAttention& by, std::int8_t device, AttentionArrays arrays, void* stream) {
  const std::lock_guard locked(lock());
  const OnDevice here(device);
  const auto& made = static_cast<const Made&>(by);
  each_part(by.plan, made.backward_parts, arrays,
            [&](const AttentionArrays& part) { made.backward->run(of_device(device).target, part, stream); });
}

}  // namespace bora::cudnn
