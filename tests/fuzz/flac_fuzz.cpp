// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A FLAC file.
#include "bora/audio/sound.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  return fuzz::refuse_or_accept([&] {
    const audio::Sound sound = audio::parse_flac(bytes, "fuzz");
    if (static_cast<std::int64_t>(audio::mono(sound).size()) != sound.frames()) __builtin_trap();
  });
}
