// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// RIFF WAVE: a header of 12 bytes, then chunks of a name, a size and so many bytes, each at an even place. Of
// them `fmt ` says how the bytes of `data` make samples.
#include <bit>
#include <cmath>
#include <optional>

#include "bora/audio/sound.h"
#include "bora/base/error.h"

namespace bora::audio {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr std::uint64_t kUnknownSize = 0xFFFFFFFF;

// A little-endian number of `width` bytes.
std::uint64_t number(Bytes bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

std::string_view text(Bytes bytes, std::size_t at, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()) + at, size};
}

struct Chunks {
  std::optional<Bytes> format, data;
};

Bytes chunk_bytes(Bytes bytes, std::size_t at, std::uint64_t size, std::string_view id,
                  std::string_view name) {
  const std::size_t left = bytes.size() - at;
  if (id == "data" && size == kUnknownSize) return bytes.subspan(at);
  if (size > left) {
    fail(ErrorKind::Corruption, "{}: its chunk `{}` should have {} bytes but the file ends after {} of them",
         name, id, size, left);
  }
  return bytes.subspan(at, size);
}

// Up to the data, which is the last that matters.
Chunks find_chunks(Bytes bytes, std::string_view name) {
  Chunks chunks;
  std::size_t at = 12;
  while (bytes.size() - at >= 8 && !chunks.data) {
    const std::string_view id = text(bytes, at, 4);
    const Bytes chunk = chunk_bytes(bytes, at + 8, number(bytes, at + 4, 4), id, name);
    if (id == "fmt ") chunks.format = chunk;
    if (id == "data") chunks.data = chunk;
    at = std::min(at + 8 + chunk.size() + chunk.size() % 2, bytes.size());
  }
  return chunks;
}

struct Format {
  std::uint64_t tag = 0, bits = 0, block = 0;
  std::int64_t channels = 0, sample_rate = 0;
};

// The tag of an extensible format stands at the start of its GUID.
std::uint64_t tag_of(Bytes chunk, std::string_view name) {
  const std::uint64_t tag = number(chunk, 0, 2);
  if (tag != kExtensible) return tag;
  if (chunk.size() < 40) {
    fail(ErrorKind::Corruption, "{}: its extensible format should have 40 bytes but has {}", name,
         chunk.size());
  }
  return number(chunk, 24, 2);
}

Format parse_format(Bytes chunk, std::string_view name) {
  if (chunk.size() < 16)
    fail(ErrorKind::Corruption, "{}: its format should have 16 bytes or more but has {}", name, chunk.size());
  return {.tag = tag_of(chunk, name),
          .bits = number(chunk, 14, 2),
          .block = number(chunk, 12, 2),
          .channels = static_cast<std::int64_t>(number(chunk, 2, 2)),
          .sample_rate = static_cast<std::int64_t>(number(chunk, 4, 4))};
}

void check_coding(const Format& format, std::string_view name) {
  const std::uint64_t bits = format.bits;
  if (format.tag == kPcm && bits >= 8 && bits <= 32 && bits % 8 == 0) return;
  if (format.tag == kFloat && (bits == 32 || bits == 64)) return;
  fail(ErrorKind::Unsupported,
       "{}: format {} with {} bits a sample; Bora reads PCM (1) of 8, 16, 24 or 32 bits and floats (3) of 32 "
       "or 64\nhint: convert it: ffmpeg -i FILE -c:a pcm_s16le OUT.wav",
       name, format.tag, bits);
}

void check_sizes(const Format& format, std::string_view name) {
  const auto within = [&](const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return;
    fail(ErrorKind::Corruption, "{}: {} should be between {} and {} but is {}", name, what, low, high, value);
  };
  within("the sample rate", format.sample_rate, kLowestRate, kHighestRate);
  within("the number of channels", format.channels, 1, kMostChannels);
  const std::uint64_t block = static_cast<std::uint64_t>(format.channels) * (format.bits / 8);
  if (format.block != block) {
    fail(ErrorKind::Corruption, "{}: {} channels of {} bits are {} bytes a frame, but the header says {}",
         name, format.channels, format.bits, block, format.block);
  }
}

// Whole numbers are shifted up to 32 bits; those of 8 have no sign.
float pcm(Bytes bytes, std::size_t at, std::size_t width) {
  const std::uint64_t raw = number(bytes, at, width) ^ (width == 1 ? 0x80u : 0u);
  const auto shifted = static_cast<std::uint32_t>(raw << (32 - 8 * width));
  return static_cast<float>(static_cast<double>(std::bit_cast<std::int32_t>(shifted)) / 2147483648.0);
}

float floating(Bytes bytes, std::size_t at, std::size_t width) {
  const std::uint64_t raw = number(bytes, at, width);
  if (width == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  return static_cast<float>(std::bit_cast<double>(raw));
}

std::vector<float> decode(Bytes data, const Format& format, std::string_view name) {
  const std::size_t width = format.bits / 8;
  std::vector<float> samples(data.size() / width);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = format.tag == kPcm ? pcm(data, i * width, width) : floating(data, i * width, width);
    if (!std::isfinite(samples[i]))
      fail(ErrorKind::Corruption, "{}: sample {} is {}, which is no sound", name, i, samples[i]);
  }
  return samples;
}

void check_header(Bytes bytes, std::string_view name) {
  if (bytes.size() < 12) {
    fail(ErrorKind::Corruption, "{}: a WAV file's header has 12 bytes, but the file has {}", name,
         bytes.size());
  }
  if (const auto magic = text(bytes, 0, 4); magic == "RIFX" || magic == "RF64") {
    fail(ErrorKind::Unsupported, "{}: WAV of the kind {}; Bora reads RIFF\nhint: ffmpeg -i FILE OUT.wav",
         name, magic);
  }
  if (text(bytes, 0, 4) != "RIFF" || text(bytes, 8, 4) != "WAVE")
    fail(ErrorKind::Corruption, "{}: is no WAV file: it does not begin with RIFF and WAVE", name);
}

}  // namespace

Sound parse_wav(std::span<const std::byte> bytes, std::string_view name) {
  check_header(bytes, name);
  const Chunks chunks = find_chunks(bytes, name);
  if (!chunks.format) fail(ErrorKind::Corruption, "{}: has no chunk `fmt ` before its data", name);
  if (!chunks.data) fail(ErrorKind::Corruption, "{}: has no chunk `data`", name);
  const Format format = parse_format(*chunks.format, name);
  check_coding(format, name);
  check_sizes(format, name);
  if (chunks.data->empty()) fail(ErrorKind::Corruption, "{}: holds no samples", name);
  if (chunks.data->size() % format.block != 0) {
    fail(ErrorKind::Corruption, "{}: {} bytes of data are no whole number of frames of {} bytes", name,
         chunks.data->size(), format.block);
  }
  return {format.sample_rate, format.channels, decode(*chunks.data, format, name)};
}

}  // namespace bora::audio
