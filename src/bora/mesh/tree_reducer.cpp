// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <utility>

#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/tree_reduce.h"

namespace bora::mesh {
namespace {

// A worker adds up the largest nodes of the tree that its lanes make up.
class TreeReducer final : public GradientReducer {
 public:
  TreeReducer(std::shared_ptr<Communicator> workers, const std::vector<core::Parameter>& parameters)
      : GradientReducer(std::move(workers), parameters, parameters), total_(this->workers(), arrays()) {}

  bool owns(std::int64_t lane, std::int64_t lanes) const override {
    return owned_lanes(workers().rank(), workers().size(), lanes).has(lane);
  }

 private:
  LaneSum sum_lanes(std::int64_t lanes, const Work& work) override {
    LaneTree tree(lanes, arrays().size());
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (!owns(lane, lanes)) continue;
      add_gradients(lane, work, tree.buffer_for(lane));
      tree.finish(lane, {});
    }
    return total_.reduce(tree);
  }

  TreeReduce total_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_tree_reducer(std::shared_ptr<Communicator> workers,
                                                   const std::vector<core::Parameter>& parameters) {
  return std::make_unique<TreeReducer>(std::move(workers), parameters);
}

}  // namespace bora::mesh
