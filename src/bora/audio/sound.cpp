// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/sound.h"

#include "bora/audio/resample.h"
#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::audio {
namespace {

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), magic.size()) == magic;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  const auto file = files().open(path);
  std::vector<std::byte> bytes(file->size());
  if (file->read_at(0, bytes) != bytes.size())
    fail(ErrorKind::Corruption, "{}: became shorter while it was read", path);
  return bytes;
}

}  // namespace

Sound read_sound(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  if (bytes.empty()) fail(ErrorKind::Corruption, "{}: is empty, so it holds no sound", path);
  for (const char* magic : {"RIFF", "RIFX", "RF64"}) {
    if (starts_with(bytes, magic)) return parse_wav(bytes, path);
  }
  if (starts_with(bytes, "fLaC")) return parse_flac(bytes, path);
  fail(ErrorKind::Unsupported,
       "{}: is neither WAV nor FLAC: it begins with neither RIFF nor fLaC\nhint: convert it: ffmpeg -i FILE "
       "-ar 16000 -ac 1 FILE.wav",
       path);
}

std::vector<float> mono(const Sound& sound) {
  std::vector<float> mean(static_cast<std::size_t>(sound.frames()));
  const float* sample = sound.samples.data();
  for (float& out : mean) {
    double sum = 0;
    for (std::int64_t c = 0; c < sound.channels; ++c) sum += *sample++;
    out = static_cast<float>(sum / static_cast<double>(sound.channels));
  }
  return mean;
}

std::vector<float> read_mono(const std::string& path, std::int64_t sample_rate) {
  const Sound sound = read_sound(path);
  return resample(mono(sound), sound.sample_rate, sample_rate);
}

}  // namespace bora::audio
