// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/chunk_exchange.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

namespace bora::mesh {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Floats of a chunk where a buffer of `bytes` holds one for each other worker; a multiple of a cache line.
std::int64_t part_of(std::int64_t bytes, const Communicator& c) {
  return std::max<std::int64_t>(16, bytes / 4 / std::max(1, c.size() - 1) / 16 * 16);
}

// Rounds done, at the beginning of each worker's shared chunk. Apart, since at different times written.
struct Progress {
  alignas(64) std::atomic<std::int64_t> written{0};
  alignas(64) std::atomic<std::int64_t> read{0};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

class SharedExchange : public ChunkExchange {
 public:
  SharedExchange(Communicator& c, std::int64_t bytes)
      : c_(c),
        part_(part_of(bytes, c)),
        buffer_(part_ * std::max(1, c.size() - 1)),
        chunks_(index(c.size())) {
    memory_ = c.share(sizeof(Progress) + 2 * sizeof(float) * index(buffer_));
    new (memory_->of(c.rank()).data()) Progress;
    c.barrier();
  }

  std::int64_t scatter_room() const override { return part_; }
  std::int64_t gather_room() const override { return buffer_; }

  void scatter(Counts, Counts, const std::function<void(int, float*)>& fill,
               const Receive& receive) override {
    begin("reduce_scatter");
    for (int k = 1; k < c_.size(); ++k) {
      const int to = (c_.rank() + k) % c_.size();
      fill(to, chunk(c_.rank(), to));
    }
    publish("reduce_scatter");
    for (int from = 0; from < c_.size(); ++from)
      chunks_[index(from)] = from == c_.rank() ? nullptr : chunk(from, c_.rank());
    receive(chunks_);
    end();
  }

  void gather(Counts, const std::function<void(float*)>& fill, const Receive& receive) override {
    begin("all_gather");
    fill(buffer(c_.rank()));
    publish("all_gather");
    for (int from = 0; from < c_.size(); ++from)
      chunks_[index(from)] = from == c_.rank() ? nullptr : buffer(from);
    receive(chunks_);
    end();
  }

 private:
  Progress& progress(int worker) const { return *reinterpret_cast<Progress*>(memory_->of(worker).data()); }
  // Rounds alternate between two buffers: a worker may be one round ahead of the slowest reader.
  float* buffer(int worker) const {
    return reinterpret_cast<float*>(memory_->of(worker).data() + sizeof(Progress)) + round_ % 2 * buffer_;
  }
  float* chunk(int from, int to) const {
    return buffer(from) + part_ * ((to - from + c_.size()) % c_.size() - 1);
  }

  void begin(const char* call) {
    await(call, [this](int w) { return progress(w).read.load(std::memory_order_acquire) >= round_ - 1; });
  }
  void publish(const char* call) {
    progress(c_.rank()).written.store(round_ + 1, std::memory_order_release);
    await(call, [this](int w) { return progress(w).written.load(std::memory_order_acquire) > round_; });
  }
  void end() { progress(c_.rank()).read.store(++round_, std::memory_order_release); }

  void await(const char* call, const auto& done_by) {
    for (int w = 0; w < c_.size(); ++w)
      if (w != c_.rank() && !done_by(w)) c_.wait(call, [&] { return done_by(w); });
  }

  Communicator& c_;
  std::int64_t part_, buffer_;  // floats
  std::int64_t round_ = 0;
  std::unique_ptr<SharedMemory> memory_;
  std::vector<float*> chunks_;
};

class MessageExchange : public ChunkExchange {
 public:
  MessageExchange(Communicator& c, std::int64_t bytes)
      : c_(c),
        part_(part_of(bytes, c)),
        out_(index(part_ * c.size())),
        in_(out_.size()),
        chunks_(index(c.size())) {}

  std::int64_t scatter_room() const override { return part_; }
  std::int64_t gather_room() const override { return part_; }

  void scatter(Counts out, Counts in, const std::function<void(int, float*)>& fill,
               const Receive& receive) override {
    for (int to = 0; to < c_.size(); ++to)
      if (to != c_.rank()) fill(to, out_.data() + to * part_);
    pass("reduce_scatter", in,
         [&](int to) { return std::span(out_.data() + to * part_, index(out[index(to)])); });
    receive(chunks_);
  }

  void gather(Counts counts, const std::function<void(float*)>& fill, const Receive& receive) override {
    fill(out_.data());
    pass("all_gather", counts, [&](int) { return std::span(out_.data(), index(counts[index(c_.rank())])); });
    receive(chunks_);
  }

 private:
  void pass(const char* call, Counts in, const auto& out) {
    std::vector<Message> messages;
    for (int k = 1; k < c_.size(); ++k) {
      const int to = (c_.rank() + k) % c_.size(), from = (c_.rank() + c_.size() - k) % c_.size();
      chunks_[index(from)] = in_.data() + from * part_;
      messages.push_back({to, std::as_bytes(out(to)), {}});
      messages.push_back(
          {from, {}, std::as_writable_bytes(std::span(chunks_[index(from)], index(in[index(from)])))});
    }
    c_.exchange_all(messages, call);
  }

  Communicator& c_;
  std::int64_t part_;  // floats
  std::vector<float> out_, in_;
  std::vector<float*> chunks_;
};

}  // namespace

std::unique_ptr<ChunkExchange> make_shared_exchange(Communicator& communicator, std::int64_t bytes) {
  return std::make_unique<SharedExchange>(communicator, bytes);
}
std::unique_ptr<ChunkExchange> make_message_exchange(Communicator& communicator, std::int64_t bytes) {
  return std::make_unique<MessageExchange>(communicator, bytes);
}

}  // namespace bora::mesh
