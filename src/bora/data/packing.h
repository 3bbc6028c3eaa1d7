// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bora::data {

/// What becomes of a document that is longer than a sequence. The names are Levanter's (slice_strategy).
enum class Overlong {
  Left,   ///< its first tokens are kept
  Right,  ///< its last tokens are kept
  Raise,  ///< an error
  Drop,   ///< it is left out
};

/// Errors: InvalidArgument for a name that is none of left, right, raise, drop.
Overlong parse_overlong(const std::string& name);
const std::vector<std::string>& overlong_names();

constexpr std::int64_t kMostSegments = 64;  ///< documents in a packed sequence, as in Levanter

/// How whole documents share a sequence.
struct PackRules {
  std::int64_t seq_len = 0;                   ///< tokens of a sequence
  std::int64_t max_segments = kMostSegments;  ///< documents in it; 1: each has its own, padded
  Overlong overlong = Overlong::Raise;
};

/// Documents [begin, end) of one sequence. Empty ones among them, and long ones with Overlong::Drop, take no
/// place.
struct Pack {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Pack&) const = default;
};

/// Puts documents into sequences in their order: each goes into the present sequence if it fits, else it
/// begins the next. So the packs depend on the lengths before them alone, and a document is in exactly one.
class GreedyPacker {
 public:
  /// Errors: InvalidArgument unless seq_len and max_segments are positive.
  explicit GreedyPacker(const PackRules& rules);

  /// The next document, of so many tokens. Errors: Config if it is too long and must not be (Raise).
  void add(std::int64_t length);
  /// The packs of all documents so far.
  std::vector<Pack> finish();

  std::int64_t overlong() const { return overlong_; }        ///< documents that were cut or dropped
  std::int64_t lost_tokens() const { return lost_tokens_; }  ///< tokens of theirs that are in no sequence

 private:
  PackRules rules_;
  std::vector<Pack> packs_;
  Pack present_;
  std::int64_t segments_ = 0, filled_ = 0, overlong_ = 0, lost_tokens_ = 0;
};

/// The packs of documents with these lengths, in tokens.
std::vector<Pack> pack_greedily(std::span<const std::int64_t> lengths, const PackRules& rules);

}  // namespace bora::data
