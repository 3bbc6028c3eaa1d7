// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace bora::run {

/// What mpirun says about workers that ended, out of its standard error, where the workers' own words are
/// too.
///
/// mpirun frames its messages by two lines of dashes. Those that tell how the run ended are kept from the
/// user, who gets the gist from `bora launch`; everything else is passed on at once, unchanged.
class MpirunMessages {
 public:
  /// `all`: pass on everything.
  MpirunMessages(std::function<void(std::string_view)> pass_on, bool all);

  void take(std::string_view bytes);
  void end();  ///< nothing more comes

  /// "worker 1 (host b)": the first one that a signal ended; empty: mpirun has named none.
  const std::string& killed() const { return killed_; }
  /// "worker 1": the first one that ended with an exit code other than 0; likewise.
  const std::string& failed() const { return failed_; }
  /// mpirun could not begin on one of the hosts: no worker was started.
  bool unreached() const { return unreached_; }

 private:
  void take_line(std::string_view line);
  void end_of_block();
  void give(std::string_view text) const;

  std::function<void(std::string_view)> pass_on_;
  bool all_;
  bool midway_ = false;  // the beginning of this line has been passed on
  bool unreached_ = false;
  bool in_block_ = false;  // between two lines of dashes
  std::string line_, block_;
  std::string killed_, failed_;
};

}  // namespace bora::run
