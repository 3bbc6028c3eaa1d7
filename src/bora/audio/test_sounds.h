// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Sounds and WAV files for tests.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/file.h"

namespace bora::audio::test {

/// A little-endian number of `width` bytes.
inline std::string le(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

inline std::string chunk(const std::string& id, const std::string& bytes) {
  return id + le(bytes.size(), 4) + bytes + (bytes.size() % 2 ? std::string(1, '\0') : "");
}

struct Wav {
  std::uint64_t tag = 1, channels = 1, rate = 16000, bits = 16;

  std::string format() const {
    const std::uint64_t block = channels * bits / 8;
    return le(tag, 2) + le(channels, 2) + le(rate, 4) + le(rate * block, 4) + le(block, 2) + le(bits, 2);
  }
  std::string file(const std::string& data) const {
    return riff(chunk("fmt ", format()) + chunk("data", data));
  }
  static std::string riff(const std::string& chunks) {
    return "RIFF" + le(chunks.size() + 4, 4) + "WAVE" + chunks;
  }
};

inline std::vector<float> sine(double hertz, double rate, std::size_t size, double height = 1) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * hertz * static_cast<double>(i) / rate;
    out[i] = static_cast<float>(height * std::sin(angle));
  }
  return out;
}

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() : path_(path_join(testing::TempDir(), "bora_audio_test." + std::to_string(getpid()))) {
    remove_all(path_);
    files().make_directories(path_);
  }
  ~Folder() { remove_all(path_); }
  std::string put(std::string_view name, std::string_view text) const {
    const std::string path = path_join(path_, name);
    const auto file = files().create(path);
    file->write(as_bytes(text));
    file->close();
    return path;
  }

 private:
  std::string path_;
};

}  // namespace bora::audio::test
