// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::run {

struct RunFlags {
  bool fresh = false;  ///< put an earlier run of the same name aside and start over
  bool dry_run = false;
  bool print_config = false;    ///< the resolved configuration, and nothing is started
  bool accept_changes = false;  ///< go on with keys changed that decide the order of the data
  std::int64_t world = 0;       ///< with dry_run: plan for so many workers
  bool quiet = false, json = false;
};

}  // namespace bora::run
