// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/reduction.h"

#include <utility>

#include "bora/base/error.h"

namespace bora::train {

std::unique_ptr<mesh::GradientReducer> make_reducer(std::string_view reduction,
                                                    std::shared_ptr<mesh::Communicator> workers,
                                                    const std::vector<core::Parameter>& parameters,
                                                    mesh::ShardedParameters* sharded) {
  const bool fast = reduction == "fast";
  if (sharded != nullptr && sharded->experts() > 1 && fast) {
    fail(ErrorKind::Config,
         "trainer.reduction: fast adds up whole gradients, but the experts lie on {} workers\n"
         "hint: trainer.reduction: fixed",
         sharded->experts());
  }
  if (sharded != nullptr && fast) {
    fail(ErrorKind::Config,
         "trainer.reduction: fast adds up whole gradients, but parameters are sharded over {} workers\n"
         "hint: trainer.fsdp_axis: null, or trainer.reduction: fixed",
         workers->size());
  }
  if (sharded != nullptr) return mesh::make_sharded_reducer(*sharded);
  return fast ? mesh::make_fast_reducer(std::move(workers), parameters)
              : mesh::make_tree_reducer(std::move(workers), parameters);
}

}  // namespace bora::train
