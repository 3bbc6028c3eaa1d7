// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/axis_cut.h"

#include <algorithm>
#include <cstring>

#include "bora/core/device.h"
#include "bora/core/host_view.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/update.h"

namespace bora::mesh {
namespace {

using core::HostView;

constexpr std::int64_t kCopiedAtOnce = 65536;  // elements of one thread's copy

bool on_host(const core::Array& a, const core::Array& b) {
  return core::device_of(a) == core::Device() && core::device_of(b) == core::Device();
}

}  // namespace

AxisCut::AxisCut(std::span<const std::int64_t> sizes, int dim, int workers)
    : sizes_(sizes.begin(), sizes.end()), dim_(dim), workers_(workers) {
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    (i < dim ? outer_ : i == dim ? axis_ : inner_) *= sizes[static_cast<std::size_t>(i)];
  }
}

AxisCut AxisCut::along(std::span<const std::string> axes, core::Names names,
                       std::span<const std::int64_t> sizes, int workers) {
  if (workers == 1) return {};
  for (const auto& axis : axes) {
    const auto at = std::find(names.begin(), names.end(), axis);
    if (at != names.end()) return {sizes, static_cast<int>(at - names.begin()), workers};
  }
  return {};
}

std::vector<std::int64_t> AxisCut::sizes(int worker) const {
  auto out = sizes_;
  if (!replicated()) out[static_cast<std::size_t>(dim_)] = end(worker) - begin(worker);
  return out;
}

void AxisCut::extract(int worker, const core::Array& whole, core::Array& shard) const {
  if (on_host(whole, shard)) {
    return extract(worker, HostView(whole, HostView::Use::read).floats().data(),
                   HostView(shard, HostView::Use::write).floats().data());
  }
  core::copy_into(shard, core::read_slice(whole, dim_, begin(worker), end(worker) - begin(worker)));
}

void AxisCut::insert(int worker, const core::Array& shard, core::Array& whole) const {
  if (on_host(whole, shard)) {
    return insert(worker, HostView(shard, HostView::Use::read).floats().data(),
                  HostView(whole, HostView::Use::update).floats().data());
  }
  core::write_slice(whole, dim_, begin(worker), shard);
}

void AxisCut::extract(int worker, const float* whole, float* shard) const {
  const auto run = (end(worker) - begin(worker)) * inner_, stride = axis_ * inner_;
  if (run == 0) return;  // an axis shorter than its workers
  const float* from = whole + begin(worker) * inner_;
  const auto rows = std::max<std::int64_t>(1, kCopiedAtOnce / std::max<std::int64_t>(1, run));
  kernels::for_chunks(outer_, rows, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      std::memcpy(shard + i * run, from + i * stride, static_cast<std::size_t>(run) * sizeof(float));
  });
}

void AxisCut::insert(int worker, const float* shard, float* whole) const {
  const auto run = (end(worker) - begin(worker)) * inner_, stride = axis_ * inner_;
  if (run == 0) return;
  float* to = whole + begin(worker) * inner_;
  const auto rows = std::max<std::int64_t>(1, kCopiedAtOnce / std::max<std::int64_t>(1, run));
  kernels::for_chunks(outer_, rows, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      std::memcpy(to + i * stride, shard + i * run, static_cast<std::size_t>(run) * sizeof(float));
  });
}

}  // namespace bora::mesh
