// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/communicator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/trace.h"
#include "bora/mesh/world.h"

namespace bora::mesh {
namespace {

std::size_t slot_of(int rank) { return static_cast<std::size_t>(rank); }

std::int64_t bytes_in(std::span<const Message> messages) {
  std::size_t bytes = 0;
  for (const auto& m : messages) bytes += m.in.size();
  return static_cast<std::int64_t>(bytes);
}

class SelfBlocks : public SharedBlocks {
 public:
  explicit SelfBlocks(std::size_t bytes) : memory_(bytes) {}
  std::span<std::byte> of(int) const override { return memory_.bytes(); }

 private:
  PageMemory memory_;
};

class SelfTransport : public WorldTransport {
 public:
  std::string_view name() const override { return "self"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void start(std::span<const Message>) override {}
  bool finished() override { return true; }
  void sum(std::span<float>) override {}
  std::unique_ptr<Transport> split(int, int) override { return std::make_unique<SelfTransport>(); }
  std::unique_ptr<SharedBlocks> share(std::size_t bytes) override {
    return std::make_unique<SelfBlocks>(bytes);
  }
  std::string host() const override { return env::hostname().value_or("unknown host"); }
  void send_alarm(std::string_view) noexcept override {}
  std::optional<Alarm> next_alarm() override { return std::nullopt; }
  void close() override {}
  void abandon() noexcept override {}
};

}  // namespace

SharedMemory::SharedMemory(const Communicator& of, std::unique_ptr<SharedBlocks> blocks)
    : communicator_(new Communicator(of)),
      blocks_(std::move(blocks)),
      exceptions_(std::uncaught_exceptions()) {}

// Giving the memory back waits for the others without a deadline, so first see that all come to it.
SharedMemory::~SharedMemory() {
  auto& world = *communicator_->world_;
  if (std::uncaught_exceptions() > exceptions_) world.abandon("it ended with an error");
  try {
    communicator_->barrier();
    world.watched("share", [this] { blocks_.reset(); }, World::Comers::are_here);
  } catch (const Error&) {
    world.transport().abandon();
  }
}

Communicator::Communicator(std::shared_ptr<World> world) : Communicator(std::move(world), nullptr) {}

Communicator::Communicator(std::shared_ptr<World> world, std::shared_ptr<Transport> part)
    : world_(std::move(world)),
      part_(std::move(part)),
      transport_(part_ ? part_.get() : &world_->transport()),
      rank_(transport_->rank()),
      size_(transport_->size()),
      one_host_(true) {
  const auto& hosts = world_->hosts();
  const bool world_on_one = std::all_of(hosts.begin(), hosts.end(), [&](auto& h) { return h == hosts[0]; });
  if (!part_ || world_on_one || size_ == 1) {
    one_host_ = world_on_one || size_ == 1;
    return;
  }
  const std::int32_t mine = world_->rank();
  std::vector<std::int32_t> ranks(slot_of(size_));
  all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(ranks)));
  one_host_ = std::all_of(ranks.begin(), ranks.end(), [&](int r) { return hosts[slot_of(r)] == host(); });
}

Communicator::~Communicator() {
  const bool ends_early = world_->broken() || std::uncaught_exceptions() > exceptions_;
  if (devices_ && ends_early) devices_->abandon();
  if (part_ && world_->broken()) world_->transport().abandon();
}

std::string_view Communicator::transport() const { return transport_->name(); }
const std::string& Communicator::host() const { return world_->hosts()[slot_of(world_->rank())]; }
std::string Communicator::who() const { return world_->worker(world_->rank()); }
void Communicator::activity(std::string_view what) { world_->set_activity(what); }
void Communicator::deadline(double seconds) { world_->set_deadline(seconds); }
double Communicator::deadline() const { return world_->deadline(); }
void Communicator::abandon(std::string_view reason) noexcept { world_->abandon(reason); }

void Communicator::wait(std::string_view call, const std::function<bool()>& done) {
  const trace::Span span("wait");
  world_->wait(call, done);
}

void Communicator::require_peer(std::string_view call, int peer) const {
  if (peer >= 0 && peer < size_) return;
  if (size_ == 1)
    fail(ErrorKind::InvalidArgument, "{}: there is no worker {}, this run has one worker", call, peer);
  fail(ErrorKind::InvalidArgument, "{}: there is no worker {} among {}", call, peer, size_);
}

void Communicator::carry(core::Device own, const std::function<std::unique_ptr<Transport>()>& open) {
  barrier();
  world_->guarded("open devices", [&] { devices_ = open(); });
  device_ = own;
}

void Communicator::start(std::string_view call, std::span<const Message> messages) {
  const auto lies_there = [](const Message& m) { return m.memory == Memory::device; };
  if (std::none_of(messages.begin(), messages.end(), lies_there))
    return world_->guarded(call, [&] { transport_->start(messages); });
  if (!devices_)
    fail(ErrorKind::InvalidArgument,
         "{}: a message lies in the memory of a device, and {} moves that of the host\nhint: carry() first",
         call, transport());
  std::vector<Message> of_devices, of_host;
  for (const auto& m : messages) (lies_there(m) ? of_devices : of_host).push_back(m);
  world_->guarded(call, [&] {
    devices_->start(of_devices);
    if (!of_host.empty()) transport_->start(of_host);
  });
}

bool Communicator::finished() {
  const bool of_host = transport_->finished();
  return (devices_ == nullptr || devices_->finished()) && of_host;
}

void Communicator::exchange_all(std::span<const Message> messages, std::string_view call) {
  for (const auto& m : messages) {
    require_peer(call, m.peer);
    if (m.peer == rank_) fail(ErrorKind::InvalidArgument, "{}: worker {} is this one itself", call, m.peer);
  }
  if (messages.empty()) return;
  const trace::Span span("exchange", "bytes", trace::on() ? bytes_in(messages) : 0);
  start(call, messages);
  world_->wait(call, [this] { return finished(); });
}

void Communicator::start_exchange(std::span<const Message> messages, std::string_view call) {
  for (const auto& m : messages) require_peer(call, m.peer);
  if (messages.empty()) return;
  call_ = call;
  travel_.begin("exchange", "bytes", trace::on() ? bytes_in(messages) : 0);
  start(call, messages);
  travels_ = true;
}

void Communicator::progress() noexcept {
  if (!travels_ || error_ || world_->broken()) return;
  try {
    if (!finished()) return;
    travel_.end();
    travels_ = false;
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Communicator::finish_exchange() {
  if (!travels_) return;
  world_->wait(call_, [this] {
    if (error_) std::rethrow_exception(error_);
    return finished();
  });
  travel_.end();
  travels_ = false;
}

void Communicator::exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in) {
  const Message message{peer, out, in};
  exchange_all({&message, 1});
}

// Dissemination (Hensgen, Finkel, Manber 1988): after round k each worker knows of 2^(k+1) others.
void Communicator::barrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int distance = 1; distance < size_; distance *= 2) {
    std::byte out{}, in{};
    const Message messages[] = {{(rank_ + distance) % size_, {&out, 1}, {}},
                                {(rank_ + size_ - distance) % size_, {}, {&in, 1}}};
    exchange_all(messages, "barrier");
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// A binomial tree: who has the bytes passes them on to the worker at half the distance of the round before.
void Communicator::broadcast(int from, std::span<std::byte> bytes, Memory memory) {
  require_peer("broadcast", from);
  if (size_ == 1 || bytes.empty()) return;
  const int place = (rank_ + size_ - from) % size_;
  const auto at = [&](int p) { return (p + from) % size_; };
  int distance = 1;
  while (distance < size_) distance *= 2;
  for (distance /= 2; distance > 0; distance /= 2) {
    Message message;
    if (place % (2 * distance) == 0 && place + distance < size_)
      message = {at(place + distance), bytes, {}, memory};
    else if (place % (2 * distance) == distance)
      message = {at(place - distance), {}, bytes, memory};
    else
      continue;
    exchange_all({&message, 1}, "broadcast");
  }
}

void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (all.size() != mine.size() * slot_of(size_))
    fail(ErrorKind::InvalidArgument, "all_gather: {} chunks of {} bytes do not fill {} bytes", size_,
         mine.size(), all.size());
  std::vector<std::size_t> bounds;
  for (int w = 0; w <= size_; ++w) bounds.push_back(slot_of(w) * mine.size());
  if (!mine.empty()) std::memmove(all.data() + bounds[slot_of(rank_)], mine.data(), mine.size());
  all_gather(all, bounds);
}

void Communicator::all_gather(std::span<std::byte> all, std::span<const std::size_t> bounds, Memory memory) {
  if (bounds.size() != slot_of(size_) + 1 || bounds.back() > all.size() ||
      !std::is_sorted(bounds.begin(), bounds.end()))
    fail(ErrorKind::InvalidArgument, "all_gather: {} bounds up to {} do not cut {} bytes for {} workers",
         bounds.size(), bounds.empty() ? 0 : bounds.back(), all.size(), size_);
  const auto chunk = [&](int w) {
    return all.subspan(bounds[slot_of(w)], bounds[slot_of(w) + 1] - bounds[slot_of(w)]);
  };
  std::vector<Message> messages;  // each worker begins with the next one, so that not all send to one at once
  for (int k = 1; k < size_; ++k) {
    messages.push_back({(rank_ + k) % size_, chunk(rank_), {}, memory});
    messages.push_back({(rank_ + size_ - k) % size_, {}, chunk((rank_ + size_ - k) % size_), memory});
  }
  exchange_all(messages, "all_gather");
}

void Communicator::all_reduce(std::span<float> values, Memory memory) {
  if (size_ == 1 || values.empty()) return;
  const trace::Span span("all-reduce", "bytes", static_cast<std::int64_t>(values.size_bytes()));
  auto& transport = memory == Memory::host ? *transport_ : *devices_;
  world_->watched("all_reduce", [&] { transport.sum(values); }, World::Comers::may_be_late);
}

std::vector<std::vector<std::byte>> Communicator::all_gather_unequal(std::span<const std::byte> mine) {
  const std::uint64_t bytes = mine.size();
  std::vector<std::uint64_t> sizes(slot_of(size_));
  all_gather(std::as_bytes(std::span(&bytes, 1)), std::as_writable_bytes(std::span(sizes)));
  std::vector<std::vector<std::byte>> blocks(slot_of(size_));
  std::vector<Message> messages;
  for (int k = 0; k < size_; ++k) {
    const int peer = (rank_ + k) % size_;
    blocks[slot_of(peer)].resize(sizes[slot_of(peer)]);
    if (k == 0)
      blocks[slot_of(peer)].assign(mine.begin(), mine.end());
    else
      messages.push_back({peer, mine, blocks[slot_of(peer)]});
  }
  exchange_all(messages, "all_gather");
  return blocks;
}

// The transport's own calls have no deadline: a barrier before them finds who is missing, and a watchdog ends
// the process if one is lost in between.
std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  if (color < 0) fail(ErrorKind::InvalidArgument, "split: the color must be at least 0, not {}", color);
  barrier();
  std::unique_ptr<Transport> part, devices;
  const auto split_all = [&] {
    part = transport_->split(color, key);
    if (devices_) devices = devices_->split(color, key);
  };
  world_->watched("split", split_all, World::Comers::are_here);
  auto out = std::make_unique<Communicator>(world_, std::move(part));
  out->devices_ = std::move(devices);
  out->device_ = device_;
  return out;
}

std::unique_ptr<Transport> Communicator::another_transport() {
  barrier();
  std::unique_ptr<Transport> part;
  world_->watched("split", [&] { part = transport_->split(0, rank_); }, World::Comers::are_here);
  return part;
}

std::unique_ptr<SharedMemory> Communicator::share(std::size_t bytes) {
  if (!one_host_)
    fail(ErrorKind::Unsupported, "share: the {} workers are on several hosts\nhint: split by host first",
         size_);
  barrier();
  std::unique_ptr<SharedBlocks> blocks;
  world_->watched("share", [&] { blocks = transport_->share(bytes); }, World::Comers::are_here);
  return std::make_unique<SharedMemory>(*this, std::move(blocks));
}

std::unique_ptr<Communicator> make_communicator(std::unique_ptr<WorldTransport> transport,
                                                double deadline_seconds) {
  return std::make_unique<Communicator>(std::make_shared<World>(std::move(transport), deadline_seconds));
}

std::unique_ptr<Communicator> make_self_communicator() {
  return make_communicator(std::make_unique<SelfTransport>());
}

std::string broadcast_text(Communicator& communicator, int from, std::string_view text) {
  std::uint64_t size = text.size();
  communicator.broadcast(from, std::as_writable_bytes(std::span(&size, 1)));
  std::string out(text);
  out.resize(size);
  communicator.broadcast(from, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<std::string> all_gather_texts(Communicator& communicator, std::string_view mine) {
  std::vector<std::string> out;
  for (const auto& bytes : communicator.all_gather_unequal(std::as_bytes(std::span(mine))))
    out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

std::byte bits_of_all(Communicator& communicator, std::byte mine) {
  if (communicator.size() == 1) return mine;
  std::vector<std::byte> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather({&mine, 1}, all);
  return std::accumulate(all.begin(), all.end(), std::byte{0}, std::bit_or<>());
}

bool any_of_all(Communicator& communicator, bool mine) {
  return bits_of_all(communicator, static_cast<std::byte>(mine)) != std::byte{0};
}

}  // namespace bora::mesh
