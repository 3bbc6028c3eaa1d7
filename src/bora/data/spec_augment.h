// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>

#include "bora/base/config.h"
#include "bora/base/key.h"
#include "bora/data/dataset.h"

namespace bora::data {

/// Stripes of features that are set to zero (Park et al. 2019), with the names and defaults of Whisper's in
/// `transformers`: in expectation prob · size / length of them along each axis, but no fewer than the least
/// number where they fit. They may overlap; no two begin at one place.
struct SpecAugment {
  double mask_time_prob = 0.05;
  std::int64_t mask_time_length = 10, mask_time_min_masks = 2;  ///< frames
  double mask_feature_prob = 0;
  std::int64_t mask_feature_length = 10, mask_feature_min_masks = 0;  ///< mel bins
  void bind(Binder& b);
};

/// On features [mel bin, frame]. What is drawn depends on the key alone.
void augment(const SpecAugment& stripes, const SoundShape& shape, const Key& key, std::span<float> features);

}  // namespace bora::data
