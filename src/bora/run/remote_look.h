// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Remote entries of a configuration, asked for all together before a start.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bora/store/download.h"
#include "bora/store/urls.h"

namespace bora::run {

/// Told from any thread, one at a time: how many of all entries have been asked for.
using Asking = std::function<void(std::int64_t done, std::int64_t all)>;

/// What those that have them tell of remote entries; at most kAtOnce are asked at once. What is told does not depend on
/// who answers first: a server that nobody reaches (Unreached) is told of by the first of its entries, and the later ones
/// count as not asked.
class RemoteLook {
 public:
  static constexpr int kAtOnce = 8;

  /// An entry that was added already is asked for once.
  void add(const std::string& entry, store::Split split);
  /// For those that were added since the last call.
  void ask(const store::DownloadOptions& options, const Asking& asking);

  struct Answer {
    store::RemoteFound found;
    std::exception_ptr error;   ///< in place of `found`
    bool is_left_out = false;   ///< its server was not reached by an earlier one, which has told it
    bool is_unreached = false;  ///< by this one
  };
  /// Of an entry that was asked for.
  const Answer& of(const std::string& entry, store::Split split) const;

 private:
  using Entry = std::pair<std::string, store::Split>;
  std::vector<Entry> entries_;
  std::map<Entry, std::size_t> places_;
  std::vector<Answer> answers_;
};

}  // namespace bora::run
