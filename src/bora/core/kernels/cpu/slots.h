// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Rows that go to several places, and back. place [tokens, k]: the row of a slot for each token and choice;
// every slot is in it once. All matrices are row-major with `width` columns.
#pragma once
#include <cstdint>

namespace bora::kernels {

struct SlotShape {
  std::int64_t tokens, k, width;
};

/// slots[place[t, j]] = w[t, j] · x[t]; without w x[t] itself.
void to_slots(const SlotShape& shape, const std::int32_t* place, const float* x, const float* w,
              float* slots);
/// out[t] = sum over j, in this order, of w[t, j] · slots[place[t, j]]; without w of the slots themselves.
void from_slots(const SlotShape& shape, const std::int32_t* place, const float* slots, const float* w,
                float* out);
/// out[t, j] = slots[place[t, j]] · x[t]
void slot_products(const SlotShape& shape, const std::int32_t* place, const float* slots, const float* x,
                   float* out);

}  // namespace bora::kernels
