// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "check.h"

#include <cuda_runtime.h>

#include <bit>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "bora/base/error.h"
#include "bora/mesh/lane_order.h"
#include "nccl_transport.h"
#include "tree_sum.h"

namespace bora::nccl {
namespace {

constexpr double kSeconds = 30;  // of each wait
constexpr std::size_t kElements = 10007;
constexpr std::int64_t kLanes = 8;
constexpr const char* kParts = "all-reduce, send and receive, split, tree sum";

using Values = std::vector<float>;

// Of very different sizes, so that another order of additions gives other bits.
Values values_of(std::uint64_t seed) {
  Values out(kElements);
  std::uint64_t state = seed * 2654435761U + 1;
  for (float& v : out) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<std::int32_t>(state >> 33U);
    v = static_cast<float>(bits - (1 << 30)) * (bits % 3 == 0 ? 1e-3F : 1.0F);
  }
  return out;
}

Values sum_of(const Values& a, const Values& b) {
  Values out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i];
  return out;
}

DeviceArray<float> on_device(const Place& place, const Values& values) {
  auto array = make_device_array<float>(place, values.size());
  place.check(cudaMemcpy(array.get(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
              "cudaMemcpy");
  // From pageable memory it may return before all has arrived, and the transport's stream does not wait for this one.
  place.check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return array;
}

void expect(const Place& place, const char* part, const float* device, const Values& want) {
  Values got(want.size());
  place.check(cudaMemcpy(got.data(), device, got.size() * sizeof(float), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want[i])) continue;
    fail(ErrorKind::Corruption, "{}: element {} of {} is {} instead of {}", place.at(part), i, want.size(),
         got[i], want[i]);
  }
}

// At most two workers: one addition, whose bits no order changes.
void check_all_reduce(NcclTransport& t, const char* part) {
  Values want = values_of(0);
  for (int w = 1; w < t.size(); ++w) want = sum_of(want, values_of(static_cast<std::uint64_t>(w)));
  const auto array = on_device(t.place(), values_of(static_cast<std::uint64_t>(t.rank())));
  t.sum({array.get(), kElements});
  expect(t.place(), part, array.get(), want);
}

// One worker sends to itself.
void check_messages(NcclTransport& t) {
  const int to = (t.rank() + 1) % t.size(), from = (t.rank() + t.size() - 1) % t.size();
  const auto out = on_device(t.place(), values_of(10 + static_cast<std::uint64_t>(t.rank())));
  const auto in = on_device(t.place(), Values(kElements));
  const mesh::Message messages[] = {{to, std::as_bytes(std::span(out.get(), kElements)), {}},
                                    {from, {}, std::as_writable_bytes(std::span(in.get(), kElements))}};
  t.start(messages);
  t.wait("send and receive");
  expect(t.place(), "send and receive", in.get(), values_of(10 + static_cast<std::uint64_t>(from)));
}

void check_split(NcclTransport& t) {
  const auto turned = t.split_off(0, t.size() - t.rank());
  if (turned->size() != t.size() || turned->rank() != t.size() - 1 - t.rank())
    fail(ErrorKind::Corruption, "{}: became worker {} of {}", t.place().at("split"), turned->rank(),
         turned->size());
  check_all_reduce(*turned, "all-reduce after a split");
}

Values lane(std::int64_t i) { return values_of(static_cast<std::uint64_t>(100 + i)); }

Values sum_of_lanes() {
  mesh::LaneMerge<Values> merge;
  for (std::int64_t i = 0; i < kLanes; ++i) merge.push({i, 1}, lane(i), sum_of);
  return merge.nodes()[0].value;
}

void check_tree_sum(NcclTransport& t) {
  const auto owned = mesh::owned_lanes(t.rank(), t.size(), kLanes);
  std::vector<DeviceArray<float>> arrays;
  std::vector<float*> own;
  for (std::int64_t i = 0; i < owned.lanes; ++i) {
    arrays.push_back(on_device(t.place(), lane(owned.first + i)));
    own.push_back(arrays.back().get());
  }
  const auto out = on_device(t.place(), Values(kElements));
  TreeSum(t, kLanes, kElements).sum(own, out.get());
  expect(t.place(), "tree sum", out.get(), sum_of_lanes());
}

void run_worker(const Place& place, const mesh::NcclId& id) {
  place.use();
  NcclTransport transport(place, id, kSeconds);
  check_all_reduce(transport, "all-reduce");
  check_messages(transport);
  check_split(transport);
  check_tree_sum(transport);
}

// What the first rank that failed says; "" if none did.
std::string run_workers(const std::vector<int>& devices) {
  const auto id = make_id();
  std::vector<std::string> errors(devices.size());
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < devices.size(); ++w) {
    threads.emplace_back([&, w] {
      try {
        run_worker({static_cast<int>(w), static_cast<int>(devices.size()), devices[w]}, id);
      } catch (const std::exception& e) {
        errors[w] = e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& error : errors)
    if (!error.empty()) return std::move(error);
  return "";
}

std::string devices_text(int count) {
  cudaDeviceProp properties{};
  const bool known = cudaGetDeviceProperties(&properties, 0) == cudaSuccess;
  return fmt::format("{} device{}{}", count, count == 1 ? "" : "s",
                     known ? fmt::format(" ({})", properties.name) : "");
}

// NCCL wants a device for each worker.
bool refused(const std::string& error) { return error.find("Duplicate GPU") != std::string::npos; }

Check run(const std::string& nccl, int devices) {
  const auto here = fmt::format("{}, {}: ", nccl, devices_text(devices));
  if (const auto error = run_workers({0}); !error.empty())
    return {Check::kWrong, here + "one worker failed: " + error};
  const auto one = fmt::format("{}one worker right ({} of {} lanes); ", here, kParts, kLanes);
  const bool apart = devices > 1;
  const auto* where = apart ? "two workers on two devices" : "two workers on one device";
  const auto error = run_workers({0, apart ? 1 : 0});
  if (error.empty()) return {Check::kRight, fmt::format("{}{} right", one, where)};
  if (!apart && refused(error))
    return {Check::kRight, fmt::format("{}{} were not run, NCCL refuses them: {}", one, where, error)};
  return {Check::kWrong, fmt::format("{}{} failed: {}", one, where, error)};
}

}  // namespace

Check check_devices() {
  try {
    const auto nccl = "NCCL " + library_version();
    int devices = 0;
    const auto code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0)
      return {Check::kNoDevice,
              fmt::format("{}: no device, nothing was run ({})", nccl,
                          code == cudaSuccess ? "the driver counts none" : cudaGetErrorString(code))};
    return run(nccl, devices);
  } catch (const std::exception& e) {
    return {Check::kWrong, e.what()};
  }
}

}  // namespace bora::nccl
