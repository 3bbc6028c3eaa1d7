// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::report {

enum class Phase { Running, Finished, Stopped, Failed };

/// Why a run stopped that goes on without that key alone.
inline constexpr std::string_view kStopReason = "trainer.stop_at_step";

/// What a run says of itself in `status.json` of its directory: when training begins, and when it ends.
struct Status {
  Phase phase = Phase::Running;
  std::int64_t step = 0;             ///< steps done
  std::int64_t num_train_steps = 0;  ///< of the whole run
  int exit_code = 0;
  std::string reason = {};  ///< why it stopped or failed, in a line
  double time = 0;          ///< seconds since the epoch
  bool operator==(const Status&) const = default;
};

/// Errors: Io.
void write_status(const std::string& run_directory, const Status& status);
/// Nothing if there is none, or one that cannot be read: a run is not lost for that.
std::optional<Status> read_status(const std::string& run_directory);

}  // namespace bora::report
