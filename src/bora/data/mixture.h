// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/key.h"
#include "bora/data/dataset.h"

namespace bora::data {

/// From sequence `start` on, the sources are drawn with these weights (any scale, one for each source).
struct MixtureStage {
  std::int64_t start = 0;
  std::vector<double> weights;
};

/// When a mixture ends. The names are Levanter's.
enum class StopStrategy {
  Restart,         ///< never: a source that ends begins again
  FirstExhausted,  ///< before a source would have to give more than its `limit`
  AllExhausted,    ///< when every source has given its `limit`; the others go on meanwhile
};

/// Errors: InvalidArgument for a name that is none of restart, first_exhausted, all_exhausted.
StopStrategy parse_stop_strategy(const std::string& name);
const std::vector<std::string>& stop_strategy_names();

/// Several datasets as one. Every block of `block_size` sequences holds exactly floor(weight *
/// block_size) of each source, and the rest of the source with the largest weight; the order inside a block
/// is a permutation by key.fold(block). So the proportions hold in every block, and any sequence is found in
/// O(sources). A source that ends begins again; give endless(...) datasets for a new order in each epoch.
/// Where the mixture ends inside a block, that one is shorter: of the source that decides it holds what is
/// left of its limit, of the others their share of that.
class Mixture final : public Dataset {
 public:
  struct Source {
    std::string name;
    DatasetPtr dataset;
    std::int64_t limit = kEndless;  ///< sequences after which it is exhausted
  };
  struct Place {
    std::int32_t source = 0;
    std::int64_t index = 0;  ///< how many of this source came before
    bool operator==(const Place&) const = default;
  };

  /// Errors: Config if stages do not start at 0, grow, and fall on multiples of block_size; if a weight is
  /// negative or all of a stage are zero; if block_size is not in [1, 65535]. InvalidArgument if sources are
  /// empty or of different lengths, or if a limit is below 1. Config if a source that should be exhausted is
  /// never read.
  Mixture(std::vector<Source> sources, const std::vector<MixtureStage>& stages, std::int64_t block_size,
          const Key& key, StopStrategy stop = StopStrategy::Restart);

  std::int64_t size() const override { return size_; }
  std::int64_t seq_len() const override { return sources_.front().dataset->seq_len(); }
  std::int32_t read(std::int64_t index, const Row& row) const override;

  Place locate(std::int64_t index) const;
  /// Sequences of each source in a block of the stage that `index` is in.
  const std::vector<std::int64_t>& counts(std::int64_t index) const { return stage_at(index).counts; }
  /// Normalized weights at `index`.
  const std::vector<double>& weights(std::int64_t index) const { return stage_at(index).weights; }
  std::int64_t stage_number(std::int64_t index) const;
  /// "name" of each source that has a weight but gets no sequence of a block, in any stage.
  std::vector<std::string> starved() const;
  const std::vector<Source>& sources() const { return sources_; }

 private:
  struct Stage {
    std::int64_t start = 0;
    std::vector<double> weights;
    std::vector<std::int64_t> counts;  // per block
    std::vector<std::int64_t> before;  // sequences of each source before this stage
  };
  /// The last block, if it is not a whole one.
  struct End {
    std::int64_t block = 0, size = 0;
    std::vector<std::int64_t> counts;
  };
  const Stage& stage_at(std::int64_t index) const;
  void find_end(StopStrategy stop);
  std::int64_t exhausted_in(std::size_t source) const;
  void end_in(std::int64_t block, StopStrategy stop);

  std::vector<Source> sources_;
  std::vector<Stage> stages_;
  std::int64_t block_size_;
  Key key_;
  std::int64_t size_ = kEndless;
  std::optional<End> end_;
};

}  // namespace bora::data
