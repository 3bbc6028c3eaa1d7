// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <utility>

#include "bora/core/create.h"
#include "bora/mesh/cargo.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/plain_arrays.h"

namespace bora::mesh {
namespace {

class FastReducer final : public GradientReducer {
 public:
  FastReducer(std::shared_ptr<Communicator> workers, const std::vector<core::Parameter>& parameters)
      : GradientReducer(std::move(workers), parameters, parameters) {}

  bool owns(std::int64_t lane, std::int64_t lanes) const override {
    return owned_lanes(workers().rank(), workers().size(), lanes).has(lane);
  }

 private:
  LaneSum sum_lanes(std::int64_t lanes, const Work& work) override {
    LaneSum sum{0, lanes, std::vector<core::Array>(arrays().size()), {}};
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (!owns(lane, lanes)) continue;
      add_gradients(lane, work, sum.arrays);
    }
    if (workers().size() == 1) return sum;
    // Workers without lanes take part; they have added to nothing.
    for (std::size_t i = 0; i < sum.arrays.size(); ++i) {
      auto& array = sum.arrays[i];
      if (array.empty()) array = core::zeros(unnamed(arrays()[i]->sizes()));
      const Cargo values(workers(), array, Cargo::Use::update);
      workers().all_reduce(values.floats(), values.memory());
    }
    return sum;
  }

  // Of a rank's lanes in a row, then in the order of ranks.
  Scalars sum_scalars(std::int64_t, const std::map<std::int64_t, Scalars>& own, std::size_t count) override {
    Scalars sum(count);
    for (const auto& [lane, scalars] : own)
      for (std::size_t i = 0; i < count; ++i) sum[i] += scalars[i];
    if (workers().size() == 1) return sum;
    std::vector<double> all(count * static_cast<std::size_t>(workers().size()));
    workers().all_gather(std::as_bytes(std::span(sum)), std::as_writable_bytes(std::span(all)));
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t k = 0; k < all.size(); ++k) sum[k % count] += all[k];
    return sum;
  }
};

}  // namespace

std::unique_ptr<GradientReducer> make_fast_reducer(std::shared_ptr<Communicator> workers,
                                                   const std::vector<core::Parameter>& parameters) {
  return std::make_unique<FastReducer>(std::move(workers), parameters);
}

}  // namespace bora::mesh
