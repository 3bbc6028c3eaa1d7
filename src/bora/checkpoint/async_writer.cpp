// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/async_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bora/base/clock.h"
#include "bora/base/log.h"
#include "bora/base/parallel.h"
#include "bora/base/trace.h"

namespace bora::checkpoint {
namespace {

constexpr std::uint64_t kPiece = 8 << 20;  // bytes that one task copies

struct Copy {
  const std::byte* from;
  std::byte* to;
  std::uint64_t size;
};

void run_copies(const std::vector<Copy>& copies) {
  parallel_for(static_cast<std::int64_t>(copies.size()), [&](std::int64_t i) {
    const Copy& copy = copies[static_cast<std::size_t>(i)];
    std::memcpy(copy.to, copy.from, copy.size);
  });
}

}  // namespace

AsyncWriter::AsyncWriter(std::string run_directory, SaveOptions options)
    : run_directory_(std::move(run_directory)), options_(options) {}

AsyncWriter::~AsyncWriter() {
  given_up_ = true;  // whoever waits for other workers: an error is under way
  join();
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& e) {
    log_warning("the last checkpoint was not saved: {}", e.what());
  }
}

void AsyncWriter::join() {
  if (thread_.joinable()) thread_.join();
}

void AsyncWriter::wait() {
  join();
  has_failed_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

std::string AsyncWriter::settle() {
  join();
  auto what = failure();
  has_failed_ = false;
  error_ = nullptr;
  return what;
}

std::string AsyncWriter::failure() const {
  if (!has_failed_) return "";  // set after error_
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  }
}

void AsyncWriter::reserve(std::uint64_t bytes) {
  if (bytes <= capacity_) return;
  join();
  snapshot_.reset();  // before the new one is there: never two at once
  capacity_ = 0;
  snapshot_.reset(new std::byte[bytes]);
  capacity_ = bytes;
  std::memset(snapshot_.get(), 0, bytes);  // the system gives memory only when it is touched
}

// Points the view's tensors into the snapshot, but those whose bytes are a copy already.
void AsyncWriter::take_snapshot(CheckpointView& view) {
  const trace::Span span("checkpoint snapshot", "bytes", static_cast<std::int64_t>(view.tensor_bytes()));
  std::vector<TensorView*> shared;
  std::uint64_t room = 0;
  auto kept = view.kept.begin();
  for (auto* tensors : {&view.parameters, &view.optimizer}) {
    for (TensorView& tensor : *tensors) {
      if ((kept++)->copied()) continue;
      shared.push_back(&tensor);
      room += tensor.bytes.size();
    }
  }
  reserve(room);
  std::vector<Copy> copies;
  std::byte* to = snapshot_.get();
  for (TensorView* tensor : shared) {
    const std::uint64_t size = tensor->bytes.size();
    for (std::uint64_t at = 0; at < size; at += kPiece)
      copies.push_back({tensor->bytes.data() + at, to + at, std::min(kPiece, size - at)});
    tensor->bytes = {to, size};
    to += size;
  }
  run_copies(copies);
}

SaveStall AsyncWriter::save(const CheckpointContent& content,
                            std::function<void(const Manifest&)> committed) {
  SaveStall stall;
  const double begin = monotonic_seconds();
  wait();
  const double waited = monotonic_seconds();
  CheckpointView view = view_of(content);
  if (!content.owned) take_snapshot(view);
  view.given_up = &given_up_;
  stall = {waited - begin, monotonic_seconds() - waited};
  thread_ = std::thread([this, view = std::move(view), committed = std::move(committed)] {
    trace::name_thread("checkpoint");
    const trace::Span span("checkpoint write");
    const double start = monotonic_seconds();
    try {
      const Manifest manifest = write_checkpoint(run_directory_, view, options_);
      if (committed) committed(manifest);
    } catch (...) {
      error_ = std::current_exception();
      has_failed_ = true;
    }
    write_seconds_ = monotonic_seconds() - start;
  });
  return stall;
}

}  // namespace bora::checkpoint
