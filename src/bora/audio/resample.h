// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace bora::audio {

/// The sound at another rate (Hz): a sinc of 32 zero crossings to a side under a Kaiser window, half as high
/// (6 dB down) at 95 % of the lower of both Nyquist frequencies. Silence before the start and after the end;
/// ceil(n * to / from) samples; constants stay what they are; a rate to itself is the same bits.
/// Errors: InvalidArgument for a rate below 1.
std::vector<float> resample(std::span<const float> sound, std::int64_t from, std::int64_t to);

}  // namespace bora::audio
