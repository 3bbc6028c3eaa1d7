// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "graph.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "copies.h"
#include "fake_device.h"
#include "kernels.h"

namespace bora::fake_device {
namespace {

using Work = std::vector<std::function<void()>>;

struct Noting {
  std::int64_t stream;
  std::function<void()> put_back;
  Work work = {};
  bool refused = false;
};
thread_local std::optional<Noting> now;
thread_local bool in_launch = false;
std::atomic<bool> no_begin = false, no_launch = false;

bool begin(core::DeviceKernels::Stream stream) {
  const auto id = reinterpret_cast<std::intptr_t>(stream);
  if (now || id == 0 || no_begin) return false;  // nor does CUDA on its default stream
  copies_before_graph();
  now = Noting{.stream = id, .put_back = memory_now()};
  return true;
}

void* end(core::DeviceKernels::Stream /*stream*/) {
  auto noted = std::exchange(now, std::nullopt);
  if (!noted) return nullptr;
  noted->put_back();
  const bool joined = !copies_under_way();  // CUDA has no graph of which a stream goes on
  return noted->refused || !joined ? nullptr : new Work(std::move(noted->work));
}

bool launch(void* graph, core::DeviceKernels::Stream /*stream*/) {
  if (no_launch) return false;
  launched("graph");
  in_launch = true;
  for (const auto& each : *static_cast<Work*>(graph)) each();
  in_launch = false;
  return true;
}

void destroy(void* graph) { delete static_cast<Work*>(graph); }

}  // namespace

bool noting() { return now.has_value(); }
bool noting_on(std::int64_t stream) { return now && now->stream == stream; }
bool launching() { return in_launch; }
void note(std::function<void()> again) {
  if (now) now->work.push_back(std::move(again));
}
void refuse_while_noting(const std::string& what) {
  if (!now) return;
  now->refused = true;
  TORCH_CHECK(false, "fake device: ", what, " while a graph is being noted");
}

void refuse_graphs(bool of_begin, bool of_launch) {
  no_begin = of_begin;
  no_launch = of_launch;
}

core::DeviceKernels::Graph graph_entries() { return {begin, end, launch, destroy}; }

}  // namespace bora::fake_device
