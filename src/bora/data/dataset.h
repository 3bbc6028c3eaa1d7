// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

namespace bora::data {

/// The features of the sound that each text was said in: none, or exactly so many mel bins and frames.
struct SoundShape {
  std::int64_t mel_bins = 0, frames = 0;
  std::int64_t size() const { return mel_bins * frames; }
  bool operator==(const SoundShape&) const = default;
};

/// What a model takes at a time.
struct SequenceShape {
  std::int64_t seq_len;
  SoundShape sound;
  SequenceShape(std::int64_t n, const SoundShape& s = {}) : seq_len(n), sound(s) {}  // NOLINT: a text
};

/// One training sequence, where it is to be written; each span but the last has seq_len elements.
/// The target of position t is token t + 1; loss_weights[t] says how much that prediction counts.
struct Row {
  std::span<std::int32_t> tokens;
  std::span<std::int32_t> segments;  ///< positions attend only within their segment; -1 is padding
  std::span<float> loss_weights;
  std::span<float> features = {};  ///< [mel bin, frame] of the dataset's sound(); empty: they are not wanted
};

/// The size of a dataset that starts again where it ends.
constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

/// Sequences of one length, by index. Any number of threads may read; reading the same index gives the same
/// bits.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t seq_len() const = 0;
  virtual SoundShape sound() const { return {}; }
  /// Writes sequence `index` of [0, size()). Returns the number of the source it came from (0 if there is
  /// one).
  virtual std::int32_t read(std::int64_t index, const Row& row) const = 0;

 protected:
  /// Throws InvalidArgument unless the index is in range and the row has seq_len elements, and the sound's if any.
  void check(std::int64_t index, const Row& row) const;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Sequences [begin, end) of another dataset.
/// Errors: InvalidArgument if that is not a part of it.
DatasetPtr slice(DatasetPtr base, std::int64_t begin, std::int64_t end);

/// The same sequences, in which no prediction counts that is made in one segment of a token of another: the
/// first token of a document is not predicted from the one before.
DatasetPtr within_segments(DatasetPtr base);

}  // namespace bora::data
