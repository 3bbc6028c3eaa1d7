// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The program bora-run with the device of the tests, which trainer.device: test then finds. A tracker of the
// type `device` writes a line for each time that metrics are logged, device.jsonl: the step, how often the host
// has waited for the device since the last time, its kernels since then, the bytes of arrays that it holds, and since
// the last time those that went to the host or came from it, those of messages from its memory, and those that its stream
// of copies has sent to the host and brought back.
// TEST_DEVICE_BYTES is how much memory the device has; TEST_ATTENTION=flash or library has attention computed as on a
// GPU; TEST_COPIES=late or early has copies done then (copies.h). TEST_REFUSES is what the device does not take: out:16, back:16
// or wait:16, of copies, beyond so many of them; begin or launch, of graphs. TEST_DEVICE_EXTRAS=1000:2000 is what its libraries
// take: of each stream, and beside arrays.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/cli/main.h"
#include "bora/core/device_extras.h"
#include "bora/core/device_kernels.h"
#include "bora/track/tracker_config.h"
#include "copies.h"
#include "fake_device.h"

namespace bora {
namespace {

class DeviceTracker final : public track::Tracker {
 public:
  explicit DeviceTracker(std::string file) : file_(std::move(file)) { fake_device::reset(); }
  std::string_view name() const override { return "device"; }
  void log(std::int64_t step, std::span<const track::Metric> /*metrics*/) override {
    const auto counts = fake_device::counts();
    const auto copies = fake_device::copy_counts();
    const auto live = core::device_memory({core::Device::Type::test, 0}).live;
    const Json line = {{"step", step},
                       {"waits", counts.synchronizations},
                       {"kernels", counts.kernels},
                       {"live", live},
                       {"host_bytes", counts.host_bytes},
                       {"carried_bytes", counts.carried_bytes},
                       {"copied_out", copies.out_bytes},
                       {"copied_back", copies.back_bytes}};
    lines_ += line.dump() + "\n";
    fake_device::reset();
  }
  void finish() override { write_atomically(file_, lines_); }

 private:
  std::string file_, lines_;
};

struct DeviceTrackerConfig : track::TrackerType {
  void bind(Binder& /*b*/) {}
  std::unique_ptr<track::Tracker> make(const track::TrackedRun& run) const override {
    return std::make_unique<DeviceTracker>(path_join(run.directory, "device.jsonl"));
  }
};

void refuse(const std::string& what) {
  using fake_device::Refused;
  fake_device::refuse_graphs(what == "begin", what == "launch");
  const auto parts = split(what, ':');
  if (parts.size() < 2) return;
  const auto call = parts[0] == "out" ? Refused::out : parts[0] == "back" ? Refused::back : Refused::wait;
  fake_device::refuse_copies(call, parse_int(std::string(parts[1])).value_or(0));
}

void take_extras(const std::string& sizes) {
  const auto parts = split(sizes, ':');
  core::register_device_extras(
      core::Device::Type::test,
      {.of_each_stream = parse_int(parts.at(0)).value_or(0), .beside = parse_int(parts.at(1)).value_or(0)});
}

}  // namespace
}  // namespace bora

int main(int argc, char** argv) {
  if (const auto bytes = bora::env::for_tests("TEST_DEVICE_BYTES"))
    bora::fake_device::limit_memory(bora::parse_int(*bytes));
  std::optional<bora::fake_device::AttentionBy> attention;
  const auto by = bora::env::for_tests("TEST_ATTENTION");
  if (by == "flash") attention.emplace(bora::fake_device::Attention::flash);
  if (by == "library") attention.emplace(bora::fake_device::Attention::library);
  std::optional<bora::fake_device::CopiedWhen> copied;
  if (const auto when = bora::env::for_tests("TEST_COPIES"))
    copied.emplace(*when == "late" ? bora::fake_device::Copied::late : bora::fake_device::Copied::early);
  if (const auto what = bora::env::for_tests("TEST_REFUSES")) bora::refuse(*what);
  if (const auto what = bora::env::for_tests("TEST_DEVICE_EXTRAS")) bora::take_extras(*what);
  return bora::cli::main(argc, argv, [] {
    bora::track::tracker_types().add("device", {"what the device did", bora::DeviceTrackerConfig()});
  });
}
