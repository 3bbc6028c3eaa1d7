// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/copier.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/core/checkpoint.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using Copiers = std::map<std::pair<Device::Type, std::int8_t>, std::unique_ptr<Copier>>;

std::mutex copiers_mutex;
// Never destroyed: copies may be under way at the end.
Copiers& copiers() {
  static auto* const all = new Copiers;
  return *all;
}

std::int64_t bytes_of(const Tensor& x) { return static_cast<std::int64_t>(x.nbytes()); }

}  // namespace

bool Copier::is_there(const Tensor& x) { return recorded_kernels(x).copies.copy != nullptr; }

Copier& Copier::of(const Tensor& x) {
  const auto device = from_torch(x.device());
  const std::lock_guard lock(copiers_mutex);
  auto& one = copiers()[{device.type, device.index}];
  if (one == nullptr) one = std::make_unique<Copier>(x);
  return *one;
}

Copier::Copier(const Tensor& x)
    : device_(from_torch(x.device())),
      copies_(recorded_kernels(x).copies),
      stream_(copies_.stream(device_.index)),
      ready_(copies_.event(device_.index)) {
  if (stream_ == nullptr || ready_ == nullptr) refuse("a stream for copies", 0);
}

Copier::Place Copier::take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->bytes >= bytes && (best == free_.end() || it->bytes < best->bytes)) best = it;
  if (best != free_.end()) {
    const Place found = *best;
    free_.erase(best);
    return found;
  }
  const Place place{copies_.pinned(bytes), bytes, copies_.event(device_.index)};
  if (place.memory == nullptr || place.done == nullptr)
    fail(
        ErrorKind::Io,
        "offload: {} of pinned memory of the host are not to be had beside {} that are taken for inputs of "
        "blocks on {}\n"
        "hint: let this process lock more memory (ulimit -l, the container's memory), take more "
        "trainer.lanes or a smaller trainer.train_batch_size, or model.gradient_checkpointing: true, which keeps "
        "them on the device",
        human_bytes(static_cast<double>(bytes)), human_bytes(static_cast<double>(bytes_)), name(device_));
  bytes_ += bytes;
  return place;
}

void Copier::give_back(const Place& place) {
  const std::lock_guard lock(mutex_);
  free_.push_back(place);
}

void Copier::begin_out(const Tensor& x, const Place& place) { begin(x, place, true); }
void Copier::begin_back(const Tensor& x, const Place& place) { begin(x, place, false); }

void Copier::begin(const Tensor& x, const Place& place, bool out) {
  const std::lock_guard lock(mutex_);
  void* array = x.data_ptr();
  const auto n = bytes_of(x);
  const bool begun = copies_.record(ready_, stream_of(x)) && copies_.wait(stream_, ready_) &&
                     copies_.copy(out ? place.memory : array, out ? array : place.memory, n, stream_) &&
                     copies_.record(place.done, stream_);
  if (!begun) refuse(out ? "a copy to the host" : "a copy from the host", n);
}

void Copier::wait(const Tensor& x, const Place& place) {
  if (!try_to_wait(x, place)) refuse("a wait for a copy", bytes_of(x));
}
bool Copier::try_to_wait(const Tensor& x, const Place& place) noexcept {
  return copies_.wait(stream_of(x), place.done);
}

std::int64_t Copier::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Copier::refuse(const char* what, std::int64_t bytes) const {
  fail(
      ErrorKind::Io,
      "offload: {} refuses {} ({})\nhint: model.gradient_checkpointing: true keeps the inputs of blocks there",
      name(device_), what, human_bytes(static_cast<double>(bytes)));
}

}  // namespace bora::core::autograd

namespace bora::core {

std::int64_t pinned_bytes(Device device) {
  const std::lock_guard lock(autograd::copiers_mutex);
  const auto found = autograd::copiers().find({device.type, device.index});
  return found == autograd::copiers().end() ? 0 : found->second->bytes();
}

}  // namespace bora::core
