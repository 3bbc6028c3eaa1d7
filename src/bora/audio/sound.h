// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Sounds, as files hold them and as models of speech hear them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::audio {

/// What a file of sound holds: samples in -1..1 (floats may go beyond), frame after frame, each with one of
/// every channel.
struct Sound {
  std::int64_t sample_rate = 0;  ///< Hz
  std::int64_t channels = 0;
  std::vector<float> samples;  ///< [frame, channel]
  std::int64_t frames() const { return static_cast<std::int64_t>(samples.size()) / channels; }
};

/// The rates that a file may state, in Hz, and how many channels.
inline constexpr std::int64_t kLowestRate = 1000, kHighestRate = 768000, kMostChannels = 64;

/// A WAV file's bytes: PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64, plain or "extensible"; whole
/// numbers of b bits are divided by 2^(b-1). A data chunk of 0xFFFFFFFF bytes, as programs write that do not
/// know the end yet, ends with the file. Errors name `name`: Corruption for bytes that contradict each
/// other, a chunk that ends after the file, no samples, or one that is not finite; Unsupported for other
/// kinds of WAV (compressed, RF64, RIFX).
Sound parse_wav(std::span<const std::byte> bytes, std::string_view name);

/// A FLAC file's bytes, of 4 to 32 bits a sample, divided by 2^(bits-1). Errors name `name`, and for damage how
/// much sound came before it: Corruption for a header or a block that cannot be read, checksums (of each block,
/// and the MD5 of all samples where the header has it) that are not those of the bytes, a file that ends early,
/// no samples, or more than 2^31.
Sound parse_flac(std::span<const std::byte> bytes, std::string_view name);

/// A file of sound, by its first bytes: WAV or FLAC. Errors: as above; Unsupported for anything else.
Sound read_sound(const std::string& path);

/// The mean of the channels. [frame]
std::vector<float> mono(const Sound& sound);

/// What a model hears: mono, at `sample_rate`.
std::vector<float> read_mono(const std::string& path, std::int64_t sample_rate);

}  // namespace bora::audio
