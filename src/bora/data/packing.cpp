// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/packing.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::data {

const std::vector<std::string>& overlong_names() {
  static const std::vector<std::string> names = {"left", "right", "raise", "drop"};
  return names;
}

Overlong parse_overlong(const std::string& name) {
  const auto& names = overlong_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    fail(ErrorKind::InvalidArgument, "packing: slice strategy {} is none of {}", name, join(names));
  return static_cast<Overlong>(at - names.begin());
}

GreedyPacker::GreedyPacker(const PackRules& rules) : rules_(rules) {
  if (rules.seq_len < 1 || rules.max_segments < 1) {
    fail(ErrorKind::InvalidArgument,
         "packing: {} documents in sequences of {} tokens; both should be at least 1", rules.max_segments,
         rules.seq_len);
  }
}

void GreedyPacker::add(std::int64_t length) {
  std::int64_t taken = length;
  if (length > rules_.seq_len) {
    if (rules_.overlong == Overlong::Raise) {
      fail(ErrorKind::Config,
           "packing: document {} has {} tokens but a sequence has {}\nhint: a larger model.seq_len, or "
           "slice_strategy: left, right (which end to keep) or drop",
           present_.end, length, rules_.seq_len);
    }
    taken = rules_.overlong == Overlong::Drop ? 0 : rules_.seq_len;
    ++overlong_;
    lost_tokens_ += length - taken;
  }
  const bool takes_place = taken > 0;
  if (takes_place && segments_ > 0 &&
      (segments_ == rules_.max_segments || filled_ + taken > rules_.seq_len)) {
    packs_.push_back(present_);
    present_.begin = present_.end;
    segments_ = filled_ = 0;
  }
  ++present_.end;
  segments_ += takes_place ? 1 : 0;
  filled_ += taken;
}

std::vector<Pack> GreedyPacker::finish() {
  if (segments_ > 0) {
    packs_.push_back(present_);
  } else if (!packs_.empty()) {
    packs_.back().end = present_.end;  // what follows the last sequence takes no place
  }
  present_.begin = present_.end;
  segments_ = filled_ = 0;
  return std::exchange(packs_, {});
}

std::vector<Pack> pack_greedily(std::span<const std::int64_t> lengths, const PackRules& rules) {
  GreedyPacker packer(rules);
  for (const std::int64_t length : lengths) packer.add(length);
  return packer.finish();
}

}  // namespace bora::data
