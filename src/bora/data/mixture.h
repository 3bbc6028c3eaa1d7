// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
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

/// In which order a mixture reads its sources. A checkpoint keeps the number, so that a run goes on as it
/// began.
enum class DataOrder {
  WithinBlocks = 1,  ///< a source's sequences of one block are permuted: passes over a small one mix. Of runs
                     ///< whose checkpoints name no order
  ByPasses = 2,      ///< each source in its own order
};
constexpr DataOrder kDataOrder = DataOrder::ByPasses;  ///< of new runs

/// Several datasets as one. Every block of `block_size` sequences holds exactly floor(weight *
/// block_size) of each source, and the rest of the source with the largest weight; which source stands where
/// in a block is a permutation by key.fold(block). So the proportions hold in every block. Each source is
/// read in its own order, and one that is alone is read as if there were no mixture. A sequence is found in
/// O(1), after O(block_size) for the first one of a block. A source that ends begins again; give endless(...)
/// datasets for a new order in each epoch. Where the mixture ends inside a block, that one is shorter: of the
/// source that decides it holds what is left of its limit, of the others their share of that.
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
  /// empty, or of different lengths or sounds, or if a limit is below 1. Config if a source that should be exhausted is
  /// never read.
  Mixture(std::vector<Source> sources, const std::vector<MixtureStage>& stages, std::int64_t block_size,
          const Key& key, StopStrategy stop = StopStrategy::Restart);

  std::int64_t size() const override { return size_; }
  std::int64_t seq_len() const override { return sources_.front().dataset->seq_len(); }
  SoundShape sound() const override { return sources_.front().dataset->sound(); }
  std::int32_t read(std::int64_t index, const Row& row) const override;

  /// Errors: InvalidArgument for a sequence that does not exist.
  Place locate(std::int64_t index) const;
  DataOrder order() const { return order_; }
  /// The same mixture, read in another order.
  std::shared_ptr<const Mixture> in_order(DataOrder order) const;
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
  /// The sequences of a block, each with how many of its source in the block come before it.
  struct Block {
    std::int64_t number = 0;
    std::vector<Place> places;
  };
  /// The block that was asked for last: the next sequence is most likely of it.
  struct LastBlock {
    std::mutex mutex;
    std::shared_ptr<const Block> block;
  };
  const Stage& stage_at(std::int64_t index) const;
  std::shared_ptr<const Block> block(std::int64_t number, const std::vector<std::int64_t>& counts) const;
  std::shared_ptr<const Block> make_block(std::int64_t number, const std::vector<std::int64_t>& counts) const;
  void find_end(StopStrategy stop);
  std::int64_t exhausted_in(std::size_t source) const;
  void end_in(std::int64_t block, StopStrategy stop);

  std::vector<Source> sources_;
  std::vector<Stage> stages_;
  std::int64_t block_size_;
  Key key_;
  DataOrder order_ = kDataOrder;
  std::int64_t size_ = kEndless;
  std::optional<End> end_;
  std::shared_ptr<LastBlock> last_ = std::make_shared<LastBlock>();
};

/// The order with this number. Errors: Unsupported for one that is not known.
DataOrder parse_data_order(std::int64_t number);

}  // namespace bora::data
