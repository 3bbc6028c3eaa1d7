// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a run does about token caches that are being built while it trains.
#pragma once
#include <functional>
#include <string>

#include "bora/mesh/communicator.h"
#include "bora/run/text_data.h"

namespace bora::run {

class GrowingText {
 public:
  /// All live longer. `known` is called when the caches are complete, after the console has been told; never
  /// if they are already.
  GrowingText(TextData& text, track::Console& console, mesh::Communicator& workers,
              std::function<void()> known);
  ~GrowingText();  ///< stops the build: whoever reads of a cache waits no longer
  GrowingText(const GrowingText&) = delete;
  GrowingText& operator=(const GrowingText&) = delete;

  bool is_growing() const { return text_.build != nullptr; }
  /// Errors: what building a cache has thrown.
  void look();
  /// Waits, visibly, until `ready` says yes on every worker, the caches are complete, or a worker is asked to
  /// stop. Collective, as wait_for_all. Errors: as above; Stopped if another worker has failed, or has not
  /// answered within the deadline.
  void wait(const std::function<bool()>& ready);
  /// Waits, visibly, for complete caches. Errors: the same.
  void wait_for_all();
  std::string note() const;  ///< "cache 43 %"; nothing when they are complete

 private:
  void wait_together(const std::function<bool()>& ready, bool heeds_stops);
  void take_turn(const std::function<bool()>& done, double& shown);
  void show() const;

  TextData& text_;
  track::Console& console_;
  mesh::Communicator& workers_;
  std::function<void()> known_;
  bool anyone_grows_ = true;  // as far as all workers know
  double began_;
  std::int64_t found_ = 0;  // bytes that an earlier run has done
};

}  // namespace bora::run
