// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/mesh/process.h"
#include "bora/mesh/transport.h"

namespace bora::mesh {

/// What all communicators of a process share: the transport of all workers, the deadline, what the worker is
/// at, and how a failure spreads.
///
/// Whoever waits past the deadline sends an alarm; every worker that waits for anything hears it, answers
/// with its own place, and stops too. Who does not answer within a grace of a quarter of the deadline (0.5 to
/// 5 s) is dead, stopped, or busy outside of any call: each survivor's error names it. After the first error
/// every call fails with the same words, and the end waits for nobody.
///
/// Who waits also looks after the processes of its own host: one that has died ends the wait at once, one
/// that stays stopped (a signal, a debugger) does after the deadline this was made with, even where more
/// patience was asked for since. A call of the transport that waits for others without end is guarded by a
/// watchdog, which ends the process.
class World {
 public:
  World(std::unique_ptr<WorldTransport> transport, double deadline_seconds);
  /// The regular end, unless something failed or an exception is under way, which the others are then told.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  WorldTransport& transport() { return *transport_; }
  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  const std::vector<std::string>& hosts() const { return hosts_; }  ///< by rank
  std::string worker(int rank) const;                               ///< "worker 2 (host b)"
  bool broken() const { return failure_.has_value(); }

  /// For the waits from here on: longer where one worker has long work to do that all others wait for.
  void set_deadline(double seconds) { deadline_ = seconds; }
  double deadline() const { return deadline_; }
  void set_activity(std::string_view what) { activity_ = what; }

  /// Asks `done` until it says yes: eagerly at first, then in naps of 1 % of the time waited (at most 1 ms).
  /// `call` names the caller in errors. Kind Stopped after the deadline or an alarm.
  void wait(std::string_view call, const std::function<bool()>& done);
  /// Runs a call of the transport; its error becomes the failure of the run.
  void guarded(std::string_view call, const std::function<void()>& body);
  /// The same for a call that waits for others: under a watchdog. Where all have met just before, patience for
  /// long work lets nobody wait for one that was stopped since.
  enum class Comers { may_be_late, are_here };
  void watched(std::string_view call, const std::function<void()>& body, Comers comers);
  void require_whole() const;  ///< throws the failure again

  /// Tells all others to stop, for a reason that lies with this worker. Never throws.
  void abandon(std::string_view reason) noexcept;

 private:
  // What a process tells all others at the start.
  struct Card {
    char host[64];
    ProcessIdentity process;
  };
  void gather_cards();
  void meet(std::string_view call);
  void poll(std::string_view call, const std::function<bool()>& done);
  bool hear_alarms(std::string_view call, const std::function<bool()>& done);
  void look_after_neighbours(std::string_view call, const std::function<bool()>& done);
  [[noreturn]] void give_up(std::string_view call, const Alarm* first);
  [[noreturn]] void break_with(std::string message);
  void collect_answers();
  std::string missing(int rank) const;  ///< the same, with what the system says of its process
  std::string place(std::string_view call) const;
  std::string report(std::string_view call, const Alarm* first) const;

  std::unique_ptr<WorldTransport> transport_;
  double deadline_;
  const double limit_;  // of a worker that is stopped
  std::string activity_ = "start";
  std::vector<std::string> hosts_;
  std::vector<ProcessIdentity> processes_;  // by rank
  std::map<int, double> stopped_since_;     // by rank, of those on this host
  double next_look_ = 0;
  bool one_died_ = false;
  std::optional<Alarm> heard_;          // by a wait that was over
  std::optional<double> exceeded_;      // seconds
  std::map<int, std::string> answers_;  // by rank: "call, in activity"
  std::optional<std::string> failure_;
  bool told_ = false;  // the others know
  int exceptions_;     // under way when this was made
};

}  // namespace bora::mesh
