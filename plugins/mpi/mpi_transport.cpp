// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "mpi_transport.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/error.h"

namespace bora::mpi {
namespace {

using mesh::Alarm;
using mesh::kLongestAlarm;
using mesh::Message;

constexpr int kTag = 1;
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;  // MPI counts in int

// After a failure no call of MPI is made any more: many of them wait for others.
bool abandoned = false;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail(ErrorKind::Stopped, "{}: {}", call, text.data());
}

constexpr std::size_t kLine = 64;

class Window : public mesh::SharedBlocks {
 public:
  Window(MPI_Comm comm, int size, std::size_t bytes) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "MPI_Info_create");
    check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    void* own = nullptr;  // Open MPI's blocks follow a header of any length: room to align them
    const int code =
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + kLine), 1, info, comm, &own, &window_);
    MPI_Info_free(&info);
    check(code, "MPI_Win_allocate_shared");
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    std::memset(own, 0, bytes + kLine);
    for (int r = 0; r < size; ++r) blocks_.push_back(block(r));
    check(MPI_Win_sync(window_), "MPI_Win_sync");
    check(MPI_Barrier(comm), "MPI_Barrier");  // nobody writes before all have zeroed theirs
  }
  ~Window() override {
    if (abandoned) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  std::span<std::byte> of(int worker) const override { return blocks_.at(static_cast<std::size_t>(worker)); }

 private:
  std::span<std::byte> block(int rank) const {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* begin = nullptr;
    check(MPI_Win_shared_query(window_, rank, &bytes, &unit, &begin), "MPI_Win_shared_query");
    const std::size_t asked = static_cast<std::size_t>(bytes) - kLine;
    std::size_t room = static_cast<std::size_t>(bytes);
    // Every worker maps the window from a page on, so all find the same first line of a block.
    return {static_cast<std::byte*>(std::align(kLine, asked, begin, room)), asked};
  }

  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::span<std::byte>> blocks_;
};

/// The messages of one communicator, which it owns.
class Messages {
 public:
  explicit Messages(MPI_Comm comm) : comm_(comm) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~Messages() { free(); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm comm() const { return comm_; }

  // Receives first, so that nothing arrives unexpected and has to be put aside.
  void start(std::span<const Message> messages) {
    for (const auto& m : messages) in_pieces(m.in.size(), [&](std::size_t at, int n) { receive(m, at, n); });
    for (const auto& m : messages) in_pieces(m.out.size(), [&](std::size_t at, int n) { send(m, at, n); });
  }

  bool finished() {
    if (requests_.empty()) return true;
    int all = 0;
    statuses_.resize(requests_.size());
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      for (const auto& status : statuses_)
        if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, "message");
    }
    check(code, "MPI_Testall");
    if (all) require_lengths();
    return all != 0;
  }

  void sum(std::span<float> values) const {
    constexpr std::size_t kMost = kLongestMessage / sizeof(float);
    for (std::size_t at = 0; at < values.size(); at += kMost)
      check(MPI_Allreduce(MPI_IN_PLACE, values.data() + at,
                          static_cast<int>(std::min(kMost, values.size() - at)), MPI_FLOAT, MPI_SUM, comm_),
            "MPI_Allreduce");
  }

  void free() {
    if (!abandoned && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    comm_ = MPI_COMM_NULL;
  }

  std::unique_ptr<Messages> split(int color, int key) const {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, color, key, &part), "MPI_Comm_split");
    return std::make_unique<Messages>(part);
  }

 private:
  static void in_pieces(std::size_t bytes, const auto& transfer) {
    for (std::size_t at = 0; at < bytes; at += kLongestMessage)
      transfer(at, static_cast<int>(std::min(bytes - at, kLongestMessage)));
  }
  void receive(const Message& m, std::size_t at, int n) {
    lengths_.push_back(n);
    check(MPI_Irecv(m.in.data() + at, n, MPI_BYTE, m.peer, kTag, comm_, &requests_.emplace_back()),
          "MPI_Irecv");
  }
  void send(const Message& m, std::size_t at, int n) {
    check(MPI_Isend(m.out.data() + at, n, MPI_BYTE, m.peer, kTag, comm_, &requests_.emplace_back()),
          "MPI_Isend");
  }
  // MPI reports a message that is too long, and takes one that is too short for right.
  void require_lengths() {
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      int n = 0;
      check(MPI_Get_count(&statuses_[i], MPI_BYTE, &n), "MPI_Get_count");
      if (n != lengths_[i]) fail(ErrorKind::Stopped, "a message of {} bytes instead of {}", n, lengths_[i]);
    }
    requests_.clear();
    lengths_.clear();
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;  // of the present batch: those of `lengths_`, then sends
  std::vector<int> lengths_;
  std::vector<MPI_Status> statuses_;
};

class Part : public mesh::Transport {
 public:
  explicit Part(std::unique_ptr<Messages> messages) : messages_(std::move(messages)) {}
  std::string_view name() const override { return "mpi"; }
  int rank() const override { return messages_->rank(); }
  int size() const override { return messages_->size(); }
  void start(std::span<const Message> messages) override { messages_->start(messages); }
  bool finished() override { return messages_->finished(); }
  void sum(std::span<float> values) override { messages_->sum(values); }
  std::unique_ptr<Transport> split(int color, int key) override {
    return std::make_unique<Part>(messages_->split(color, key));
  }
  std::unique_ptr<mesh::SharedBlocks> share(std::size_t bytes) override {
    return std::make_unique<Window>(messages_->comm(), size(), bytes);
  }
  void abandon() noexcept override { abandoned = true; }

 private:
  std::unique_ptr<Messages> messages_;
};

MPI_Comm duplicate_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return comm;
}

class World : public mesh::WorldTransport {
 public:
  explicit World(bool ours) : ours_(ours), messages_(duplicate_world()), alarms_(duplicate_world()) {
    listen();
  }
  std::string_view name() const override { return "mpi"; }
  int rank() const override { return messages_.rank(); }
  int size() const override { return messages_.size(); }
  void start(std::span<const Message> messages) override { messages_.start(messages); }
  bool finished() override { return messages_.finished(); }
  void sum(std::span<float> values) override { messages_.sum(values); }
  std::unique_ptr<Transport> split(int color, int key) override {
    return std::make_unique<Part>(messages_.split(color, key));
  }
  std::unique_ptr<mesh::SharedBlocks> share(std::size_t bytes) override {
    return std::make_unique<Window>(messages_.comm(), size(), bytes);
  }

  std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
    int length = 0;
    check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    return name.data();
  }

  // Short messages leave at once, whether the receiver lives or not. The text stays until the process ends: of some
  // alarms, which say enough.
  void send_alarm(std::string_view text) noexcept override {
    if (abandoned) return;
    if (alarms_sent_ == sent_.size()) return;
    auto& sent = sent_[alarms_sent_++];
    const auto length = text.copy(sent.data(), sent.size());
    for (int r = 0; r < size(); ++r) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (r == rank()) continue;
      if (MPI_Isend(sent.data(), static_cast<int>(length), MPI_BYTE, r, kTag, alarms_, &request) ==
          MPI_SUCCESS)
        MPI_Request_free(&request);
    }
  }

  std::optional<Alarm> next_alarm() override {
    if (abandoned) return std::nullopt;
    int here = 0, length = 0;
    MPI_Status status;
    if (MPI_Test(&alarm_, &here, &status) != MPI_SUCCESS || !here) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &length);
    Alarm alarm{status.MPI_SOURCE, std::string(heard_.data(), static_cast<std::size_t>(std::max(0, length)))};
    listen();
    return alarm;
  }

  void close() override {
    MPI_Cancel(&alarm_);
    MPI_Request_free(&alarm_);
    MPI_Comm_free(&alarms_);
    messages_.free();
    abandoned = true;
    if (ours_) MPI_Finalize();
  }
  void abandon() noexcept override { abandoned = true; }

 private:
  void listen() {
    check(MPI_Irecv(heard_.data(), static_cast<int>(heard_.size()), MPI_BYTE, MPI_ANY_SOURCE, kTag, alarms_,
                    &alarm_),
          "MPI_Irecv");
  }

  bool ours_;
  Messages messages_;
  MPI_Comm alarms_;
  MPI_Request alarm_ = MPI_REQUEST_NULL;
  std::array<char, kLongestAlarm> heard_{};
  std::array<std::array<char, kLongestAlarm>, 8> sent_{};
  std::size_t alarms_sent_ = 0;
};

}  // namespace

std::unique_ptr<mesh::WorldTransport> open_world() {
  int started = 0, provided = 0;
  check(MPI_Initialized(&started), "MPI_Initialized");
  if (!started) check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return std::make_unique<World>(!started);
}

}  // namespace bora::mpi
