// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <cmath>

#include "bora/base/json.h"
#include "bora/report/run_summary.h"

namespace bora::report {
namespace {

// JSON has no such numbers.
Json finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

}  // namespace

std::string runs_json(const std::vector<RunSummary>& runs) {
  auto all = Json::array();
  for (const auto& run : runs) {
    all.push_back({{"run", run.name},
                   {"directory", run.directory},
                   {"state", run.state},
                   {"reason", run.reason},
                   {"step", run.step},
                   {"num_train_steps", run.num_train_steps ? Json(*run.num_train_steps) : Json()},
                   {"loss", finite(run.loss)},
                   {"tokens_per_second", finite(run.tokens_per_second)},
                   {"changed", run.changed},
                   {"next", run.next}});
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bora::report
