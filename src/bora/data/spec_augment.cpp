// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/spec_augment.h"

#include <algorithm>
#include <set>

#include "bora/base/error.h"

namespace bora::data {
namespace {

// Where stripes of `length` along `size` places begin.
std::set<std::int64_t> begins(std::int64_t size, double prob, std::int64_t length, std::int64_t least,
                              const Key& key) {
  const std::int64_t places = size - length + 1;
  if (places < 1) return {};
  const double wanted = prob * static_cast<double>(size) / static_cast<double>(length);
  auto count = static_cast<std::int64_t>(wanted + key.fold("count").uniform());
  count = std::min({std::max(count, least), size / length, places});
  std::set<std::int64_t> out;
  // Floyd's draw without replacement: of each larger range one, or its last place where that one is taken.
  const Key draws = key.fold("begins");
  for (std::int64_t last = places - count; last < places; ++last) {
    const auto at = static_cast<std::int64_t>(
        draws.below(static_cast<std::uint64_t>(last + 1), static_cast<std::uint64_t>(last)));
    if (!out.insert(at).second) out.insert(last);
  }
  return out;
}

}  // namespace

void SpecAugment::bind(Binder& b) {
  constexpr Range kShare = from_to(0, 1);
  b.field("mask_time_prob", mask_time_prob, kShare, "share of the frames in stripes, in expectation");
  b.field("mask_time_length", mask_time_length, kSize, "frames of a stripe");
  b.field("mask_time_min_masks", mask_time_min_masks, kNonNegative, "stripes of frames, at least");
  b.field("mask_feature_prob", mask_feature_prob, kShare, "share of the mel bins in stripes, in expectation");
  b.field("mask_feature_length", mask_feature_length, kSize, "mel bins of a stripe");
  b.field("mask_feature_min_masks", mask_feature_min_masks, kNonNegative, "stripes of mel bins, at least");
}

void augment(const SpecAugment& s, const SoundShape& shape, const Key& key, std::span<float> features) {
  if (std::ssize(features) != shape.size()) {
    fail(ErrorKind::InvalidArgument, "spec_augment: {} features; there should be {}", features.size(),
         shape.size());
  }
  for (const auto first :
       begins(shape.frames, s.mask_time_prob, s.mask_time_length, s.mask_time_min_masks, key.fold("time"))) {
    for (std::int64_t bin = 0; bin < shape.mel_bins; ++bin)
      std::fill_n(features.begin() + bin * shape.frames + first, s.mask_time_length, 0.0F);
  }
  for (const auto first : begins(shape.mel_bins, s.mask_feature_prob, s.mask_feature_length,
                                 s.mask_feature_min_masks, key.fold("feature")))
    std::fill_n(features.begin() + first * shape.frames, s.mask_feature_length * shape.frames, 0.0F);
}

}  // namespace bora::data
