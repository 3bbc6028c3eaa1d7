// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cuda_runtime.h>
#include <nccl.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bora/mesh/nccl_plugin.h"
#include "bora/mesh/transport.h"
#include "device.h"

namespace bora::nccl {

/// By what workers find each other; worker 0 makes one for all.
mesh::NcclId make_id();
/// "2.28.9", of the library that is loaded.
std::string library_version();

/// Workers whose messages lie in device memory. Communicators do not block: whoever waits here does so for at
/// most `limit_seconds`, and every failure of CUDA or NCCL is an Error that names call, rank, device and
/// NCCL's own words. After the first one nothing waits for others any more, and all calls fail.
///
/// Work and transfers are in the order of stream(): a kernel given to it before start() has ended before the
/// bytes leave, and one given to it after finished() has said so sees what came. So it is with the stream `computing`
/// of who gives the messages: transfers begin when all that it was given before start() has ended, and finished() says
/// so when they have. What is split off has the same stream: transfers come one after the other in the order in which every
/// worker begins them, so that none waits for one behind it. NCCL does not see whether sizes agree on both sides: a batch
/// of unequal ones does not end. The device of the calling thread is the worker's from then on.
class NcclTransport : public mesh::Transport {
 public:
  /// Collective: all `place.size` workers, with one id.
  NcclTransport(const Place& place, const mesh::NcclId& id, double limit_seconds,
                mesh::NcclStream computing = nullptr);
  ~NcclTransport() override;
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  std::string_view name() const override { return "nccl"; }
  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  const Place& place() const { return place_; }
  cudaStream_t stream() const { return family_->stream.get(); }

  /// A worker may send to itself, if it receives in the same batch.
  void start(std::span<const mesh::Message> messages) override;
  bool finished() override;
  void sum(std::span<float> values) override;
  std::unique_ptr<mesh::Transport> split(int color, int key) override;
  /// The same; the transport's own kind.
  std::unique_ptr<NcclTransport> split_off(int color, int key);
  /// Unsupported.
  std::unique_ptr<mesh::SharedBlocks> share(std::size_t bytes) override;

  /// Until the batch has finished, or all that stream() has been given if there is none.
  void wait(std::string_view call);
  /// Ends what travels, here; others run into their limits.
  void abandon() noexcept override;

 private:
  enum class State { idle, enqueued_soon, enqueued };

  /// What those that are split off one another have in common: a stream, so that their transfers come one after the
  /// other in the order in which every worker begins them, and who has begun what is not in it yet.
  struct Family {
    Stream stream;
    NcclTransport* begun = nullptr;
  };

  NcclTransport(const Place& place, double limit_seconds, mesh::NcclStream computing,
                std::shared_ptr<Family> family);
  void follow();
  void let_it_enter();
  bool has_entered();
  void require_whole(std::string_view call) const;
  void require(ncclResult_t result, std::string_view call);
  [[noreturn]] void break_with(std::string_view call, std::string_view words);
  bool ready(std::string_view call);
  void wait_until(std::string_view call, const std::function<bool()>& done);
  void begin(ncclResult_t result, std::string_view call);
  void mark_end();

  Place place_;
  double limit_;
  mesh::NcclStream computing_;  // null: nobody computes but on stream()
  std::shared_ptr<Family> family_;
  Event end_, given_;
  ncclComm_t comm_ = nullptr;
  State state_ = State::idle;
  std::string call_;  // that began what travels
};

}  // namespace bora::nccl
