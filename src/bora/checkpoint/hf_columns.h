// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Parameters that share the columns of one tensor (HfParameter::Columns).
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/checkpoint/hugging_face.h"

namespace bora::checkpoint {

/// The end of a name, "[first::step]"; nothing where there is none. InvalidArgument for other slices.
std::optional<HfParameter::Columns> parse_columns(std::string_view name);

/// The tensor's shape, for a parameter of these sizes: [place, out, in] or [place, out].
std::vector<std::int64_t> shape_of_columns(std::vector<std::int64_t> sizes,
                                           const HfParameter::Columns& columns);

/// Writes a parameter's whole values to its places in the tensor.
void put_columns(const HfParameter& p, std::span<const float> whole, std::span<float> tensor);
/// And back.
void take_columns(const HfParameter& p, std::span<const float> tensor, std::span<float> whole);

}  // namespace bora::checkpoint
