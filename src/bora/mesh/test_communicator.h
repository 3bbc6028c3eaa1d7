// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Workers as threads of one process, for tests of what needs several without a launcher.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/device.h"
#include "bora/mesh/communicator.h"
#include "bora/mesh/device_transport.h"

namespace bora::mesh::testing {

/// What the threads have in common: letter boxes, alarms, and a place to meet.
struct Hub {
  using Key = std::tuple<int, int, int>;  // communicator, from, to
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::deque<std::vector<std::byte>>> letters;
  std::map<int, std::deque<Alarm>> alarms;  // by receiver
  std::vector<std::string> hosts;           // by rank
  int communicators = 1;

  // All `size` workers of a communicator put in a value and get everyone's.
  struct Meeting {
    std::map<int, std::pair<int, int>> values;
    std::map<std::pair<int, int>, int> made;  // what the first to ask for it made
    std::vector<std::shared_ptr<PageMemory>> blocks;
    std::map<int, std::vector<float>> addends;
  };
  std::map<std::pair<int, int>, Meeting> meetings;  // by (communicator, its n-th meeting)
};

class ThreadBlocks : public SharedBlocks {
 public:
  explicit ThreadBlocks(std::vector<std::shared_ptr<PageMemory>> blocks) : blocks_(std::move(blocks)) {}
  std::span<std::byte> of(int worker) const override {
    return blocks_[static_cast<std::size_t>(worker)]->bytes();
  }

 private:
  std::vector<std::shared_ptr<PageMemory>> blocks_;
};

class ThreadTransport : public WorldTransport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int id, std::vector<int> members, int rank)
      : hub_(std::move(hub)), id_(id), members_(std::move(members)), rank_(rank) {}

  std::string_view name() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  std::string host() const override { return hub_->hosts[static_cast<std::size_t>(rank_)]; }

  void start(std::span<const Message> messages) override {
    const std::lock_guard lock(hub_->mutex);
    for (const auto& m : messages) {
      if (!m.out.empty()) hub_->letters[{id_, rank_, m.peer}].emplace_back(m.out.begin(), m.out.end());
      if (!m.in.empty()) pending_.push_back(m);
    }
  }

  bool finished() override {
    const std::lock_guard lock(hub_->mutex);
    std::vector<Message> rest;
    std::map<int, bool> blocked;  // letters of one sender come in order
    for (const auto& m : pending_) {
      auto& box = hub_->letters[{id_, m.peer, rank_}];
      if (blocked[m.peer] || box.empty()) {
        blocked[m.peer] = true;
        rest.push_back(m);
        continue;
      }
      if (box.front().size() != m.in.size())
        fail(ErrorKind::Stopped, "a message of {} bytes instead of {}", box.front().size(), m.in.size());
      std::memcpy(m.in.data(), box.front().data(), m.in.size());
      box.pop_front();
    }
    pending_ = std::move(rest);
    return pending_.empty();
  }

  // In the order of workers, one after another.
  void sum(std::span<float> values) override {
    std::unique_lock lock(hub_->mutex);
    hub_->meetings[{id_, meetings_}].addends[rank_].assign(values.begin(), values.end());
    const auto& addends = meet(lock, {0, 0}).addends;
    std::fill(values.begin(), values.end(), 0.F);
    for (const auto& [rank, addend] : addends)
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += addend[i];
  }

  std::unique_ptr<Transport> split(int color, int key) override {
    std::unique_lock lock(hub_->mutex);
    auto& meeting = meet(lock, {color, key});
    std::vector<std::pair<int, int>> order;  // (key, rank) of this color
    for (const auto& [r, value] : meeting.values) {
      if (value.first == color) order.emplace_back(value.second, r);
    }
    std::sort(order.begin(), order.end());
    auto& id = meeting.made[{color, 0}];
    if (id == 0) id = hub_->communicators++;
    std::vector<int> members;
    int own = 0;
    for (const auto& [k, r] : order) {
      if (r == rank_) own = static_cast<int>(members.size());
      members.push_back(members_[static_cast<std::size_t>(r)]);
    }
    return std::make_unique<ThreadTransport>(hub_, id, std::move(members), own);
  }

  std::unique_ptr<SharedBlocks> share(std::size_t bytes) override {
    std::unique_lock lock(hub_->mutex);
    auto block = std::make_shared<PageMemory>(bytes);
    auto& meeting = hub_->meetings[{id_, meetings_}];
    meeting.blocks.resize(members_.size());
    meeting.blocks[static_cast<std::size_t>(rank_)] = std::move(block);
    return std::make_unique<ThreadBlocks>(meet(lock, {0, 0}).blocks);
  }

  void send_alarm(std::string_view text) noexcept override {
    const std::lock_guard lock(hub_->mutex);
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) hub_->alarms[r].push_back({rank_, std::string(text.substr(0, kLongestAlarm))});
    }
  }
  std::optional<Alarm> next_alarm() override {
    const std::lock_guard lock(hub_->mutex);
    auto& box = hub_->alarms[rank_];
    if (box.empty()) return std::nullopt;
    auto alarm = box.front();
    box.pop_front();
    return alarm;
  }
  void close() override {}
  void abandon() noexcept override {}

 private:
  Hub::Meeting& meet(std::unique_lock<std::mutex>& lock, std::pair<int, int> value) {
    auto& meeting = hub_->meetings[{id_, meetings_++}];
    meeting.values[rank_] = value;
    hub_->changed.notify_all();
    hub_->changed.wait(lock, [&] { return meeting.values.size() == members_.size(); });
    return meeting;
  }

  std::shared_ptr<Hub> hub_;
  int id_;
  std::vector<int> members_;  // ranks in the world
  int rank_;
  int meetings_ = 0;
  std::vector<Message> pending_;
};

struct Workers {
  int count = 1;
  double deadline = 20;
  std::vector<std::string> hosts = {};  ///< by rank; empty: all on one
};

/// Runs `body` as each of the workers, their arrays on the device of who calls, which messages go between as in a run.
/// What each of them threw, "" for nothing.
inline std::vector<std::string> run_workers(const Workers& workers,
                                            const std::function<void(Communicator&)>& body) {
  auto hub = std::make_shared<Hub>();
  hub->hosts = workers.hosts;
  hub->hosts.resize(static_cast<std::size_t>(workers.count), "here");
  std::vector<int> all;
  for (int r = 0; r < workers.count; ++r) all.push_back(r);
  std::vector<std::string> errors(static_cast<std::size_t>(workers.count));
  std::vector<std::thread> threads;
  for (int r = 0; r < workers.count; ++r) {
    threads.emplace_back([&, r, device = core::default_device()] {
      const core::DeviceScope scope(device);
      try {
        const auto communicator =
            make_communicator(std::make_unique<ThreadTransport>(hub, 0, all, r), workers.deadline);
        if (has_device_transports(device.type)) connect_devices(*communicator, device);
        body(*communicator);
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(r)] = e.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

inline std::shared_ptr<Communicator> borrowed(Communicator& c) {
  return {std::shared_ptr<Communicator>(), &c};
}

/// The message of the Error that `body` throws.
inline std::string thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace bora::mesh::testing
