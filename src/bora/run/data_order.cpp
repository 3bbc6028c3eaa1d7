// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/data_order.h"

#include "bora/base/file.h"
#include "bora/checkpoint/checkpoint.h"

namespace bora::run {

data::DataOrder data_order_of(const Json& state) {
  return data::parse_data_order(json_get<std::int64_t>(state, "data_order", "state.json", 1));
}

data::DataOrder data_order_of_run(const std::string& directory) {
  const auto checkpoints = checkpoint::committed_checkpoints(directory);
  if (checkpoints.empty()) return data::kDataOrder;
  const auto path = path_join(checkpoints.back(), "state.json");
  return data_order_of(parse_json(read_text(path), path));
}

}  // namespace bora::run
