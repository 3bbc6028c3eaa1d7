// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "nccl_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "bora/base/error.h"

namespace bora::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(mesh::NcclId));
constexpr double kFinalizeSeconds = 5;

bool accepted(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

// The kind of failure, and what the library has noted of the last one.
std::string words_of(ncclResult_t result, ncclComm_t comm) {
  const char* last = ncclGetLastError(comm);
  std::string words = ncclGetErrorString(result);
  if (last != nullptr && *last != '\0') words += fmt::format(": {}", last);
  while (words.ends_with('\n')) words.pop_back();
  return words;
}

ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Eagerly at first, then in naps of 1 % of the time waited.
bool wait_at_most(double seconds, const std::function<bool()>& done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    const double waited = seconds_since(begin);
    if (waited > seconds) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(waited / 100, 1e-3)));
  }
  return true;
}

}  // namespace

mesh::NcclId make_id() {
  ncclUniqueId id;
  const auto result = ncclGetUniqueId(&id);
  if (result != ncclSuccess)
    fail(ErrorKind::Unsupported, "nccl: ncclGetUniqueId: {}", words_of(result, nullptr));
  mesh::NcclId out;
  std::memcpy(out.data(), &id, sizeof(id));
  return out;
}

std::string library_version() {
  int v = 0;
  if (ncclGetVersion(&v) != ncclSuccess) return "of unknown version";
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

NcclTransport::NcclTransport(const Place& place, double limit_seconds, mesh::NcclStream computing,
                             std::shared_ptr<Family> family)
    : place_(place), limit_(limit_seconds), computing_(computing), family_(std::move(family)) {
  place_.use();
  if (!family_) family_ = std::make_shared<Family>(Family{make_stream(place_)});
  end_ = make_event(place_);
  given_ = make_event(place_);
}

NcclTransport::NcclTransport(const Place& place, const mesh::NcclId& id, double limit_seconds,
                             mesh::NcclStream computing)
    : NcclTransport(place, limit_seconds, computing, nullptr) {
  place_.use();
  ncclUniqueId unique;
  std::memcpy(&unique, id.data(), sizeof(unique));
  auto config = non_blocking();
  require(ncclCommInitRankConfig(&comm_, place_.size, unique, place_.rank, &config),
          "ncclCommInitRankConfig");
  wait_until("ncclCommInitRankConfig", [this] { return ready("ncclCommInitRankConfig"); });
}

// The regular end waits for nobody's messages, as there are none; it is not to hang either.
NcclTransport::~NcclTransport() {
  if (comm_ == nullptr) return;
  try {
    place_.use();
    ncclResult_t state = ncclInternalError;
    if (state_ == State::idle && accepted(ncclCommFinalize(comm_))) {
      wait_at_most(std::min(limit_, kFinalizeSeconds), [&] {
        return ncclCommGetAsyncError(comm_, &state) != ncclSuccess || state != ncclInProgress;
      });
    }
    if (state == ncclSuccess) ncclCommDestroy(std::exchange(comm_, nullptr));
  } catch (const std::exception&) {
  }
  abandon();
}

void NcclTransport::abandon() noexcept {
  state_ = State::idle;
  if (family_->begun == this) family_->begun = nullptr;
  if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
}

void NcclTransport::break_with(std::string_view call, std::string_view words) {
  const auto message = fmt::format("{}: {}", place_.at(call), words);
  abandon();
  throw Error(ErrorKind::Stopped, message);
}

void NcclTransport::require_whole(std::string_view call) const {
  if (comm_ == nullptr) fail(ErrorKind::Stopped, "{}: NCCL was given up after a failure", place_.at(call));
}

void NcclTransport::require(ncclResult_t result, std::string_view call) {
  if (!accepted(result)) break_with(call, words_of(result, comm_));
}

// Whether the library has taken in the last call.
bool NcclTransport::ready(std::string_view call) {
  ncclResult_t state = ncclSuccess;
  require(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
  require(state, call);
  return state != ncclInProgress;
}

void NcclTransport::wait_until(std::string_view call, const std::function<bool()>& done) {
  if (!wait_at_most(limit_, done)) break_with(call, fmt::format("not complete after {:g} s", limit_));
}

void NcclTransport::begin(ncclResult_t result, std::string_view call) {
  require(result, call);
  call_ = call;
  state_ = State::enqueued_soon;
  family_->begun = this;
  if (result == ncclSuccess) mark_end();
}

// Only now is the work in the stream: an event recorded earlier would tell of what was before it.
void NcclTransport::mark_end() {
  const auto code = cudaEventRecord(end_.get(), stream());
  if (code != cudaSuccess) break_with("cudaEventRecord", cudaGetErrorString(code));
  state_ = State::enqueued;
  if (family_->begun == this) family_->begun = nullptr;
}

bool NcclTransport::has_entered() {
  if (state_ != State::enqueued_soon) return true;
  if (!ready(call_)) return false;
  mark_end();
  return true;
}

void NcclTransport::let_it_enter() {
  wait_until(call_, [this] { return has_entered(); });
}

// What is begun from here on comes after what another one of the family has begun, and after what the computing stream
// has been given until now.
void NcclTransport::follow() {
  if (family_->begun != nullptr) family_->begun->let_it_enter();
  if (computing_ == nullptr) return;
  auto code = cudaEventRecord(given_.get(), static_cast<cudaStream_t>(computing_()));
  if (code != cudaSuccess) break_with("cudaEventRecord", cudaGetErrorString(code));
  code = cudaStreamWaitEvent(stream(), given_.get(), 0);
  if (code != cudaSuccess) break_with("cudaStreamWaitEvent", cudaGetErrorString(code));
}

void NcclTransport::start(std::span<const mesh::Message> messages) {
  require_whole("start");
  if (state_ != State::idle)
    fail(ErrorKind::InvalidArgument, "{}: the batch before it has not finished", place_.at("start"));
  if (messages.empty()) return;
  place_.use();
  follow();
  ncclResult_t result = ncclGroupStart();
  std::string_view call = "ncclGroupStart";
  const auto also = [&](ncclResult_t next, std::string_view name) {
    if (!accepted(result) || accepted(next)) return;
    result = next;
    call = name;
  };
  for (const auto& m : messages) {
    if (!m.out.empty())
      also(ncclSend(m.out.data(), m.out.size(), ncclUint8, m.peer, comm_, stream()), "ncclSend");
    if (!m.in.empty())
      also(ncclRecv(m.in.data(), m.in.size(), ncclUint8, m.peer, comm_, stream()), "ncclRecv");
  }
  const auto end = ncclGroupEnd();  // after a failure too: a group is the thread's state
  require(result, call);
  begin(end, "ncclGroupEnd");
}

bool NcclTransport::finished() {
  require_whole("finished");
  if (state_ == State::idle) return true;
  place_.use();
  if (!has_entered()) return false;
  const auto code = cudaEventQuery(end_.get());
  if (code == cudaErrorNotReady) {
    ready(call_);  // throws what has gone wrong on the way
    return false;
  }
  if (code != cudaSuccess) break_with(call_, cudaGetErrorString(code));
  state_ = State::idle;
  return true;
}

void NcclTransport::wait(std::string_view call) {
  require_whole(call);
  if (state_ == State::idle) {
    place_.use();
    call_ = call;
    mark_end();
  }
  wait_until(call, [this] { return finished(); });
}

void NcclTransport::sum(std::span<float> values) {
  require_whole("sum");
  if (state_ != State::idle)
    fail(ErrorKind::InvalidArgument, "{}: the batch before it has not finished", place_.at("sum"));
  if (values.empty()) return;
  place_.use();
  follow();
  begin(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat32, ncclSum, comm_, stream()),
        "ncclAllReduce");
  wait("ncclAllReduce");
}

// The new communicator is there once the old one says that the call is complete.
std::unique_ptr<NcclTransport> NcclTransport::split_off(int color, int key) {
  require_whole("split");
  place_.use();
  std::unique_ptr<NcclTransport> part(new NcclTransport(place_, limit_, computing_, family_));
  auto config = non_blocking();
  require(ncclCommSplit(comm_, color, key, &part->comm_, &config), "ncclCommSplit");
  wait_until("ncclCommSplit", [this] { return ready("ncclCommSplit"); });
  if (part->comm_ == nullptr) break_with("ncclCommSplit", "no communicator came");
  part->wait_until("ncclCommSplit", [&part] { return part->ready("ncclCommSplit"); });
  require(ncclCommUserRank(part->comm_, &part->place_.rank), "ncclCommUserRank");
  require(ncclCommCount(part->comm_, &part->place_.size), "ncclCommCount");
  return part;
}

std::unique_ptr<mesh::Transport> NcclTransport::split(int color, int key) { return split_off(color, key); }

std::unique_ptr<mesh::SharedBlocks> NcclTransport::share(std::size_t bytes) {
  fail(ErrorKind::Unsupported,
       "{}: {} bytes: workers of a host do not see each other's device memory\nhint: messages, or blocks of "
       "the workers' own transport (mpi)",
       place_.at("share"), bytes);
}

}  // namespace bora::nccl
