// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Files as libFLAC, the reference encoder, writes them.
#include <FLAC/stream_encoder.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/audio/sound.h"
#include "bora/audio/test_sounds.h"
#include "bora/base/error.h"

namespace bora::audio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A file in memory: the encoder comes back to its header at the end.
struct Encoded {
  std::string bytes;
  std::size_t at = 0;
};

FLAC__StreamEncoderWriteStatus put(const FLAC__StreamEncoder*, const FLAC__byte buffer[], std::size_t size,
                                   std::uint32_t, std::uint32_t, void* data) {
  auto& file = *static_cast<Encoded*>(data);
  file.bytes.resize(std::max(file.bytes.size(), file.at + size));
  std::copy_n(buffer, size, file.bytes.begin() + static_cast<std::ptrdiff_t>(file.at));
  file.at += size;
  return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}
FLAC__StreamEncoderSeekStatus seek(const FLAC__StreamEncoder*, FLAC__uint64 offset, void* data) {
  static_cast<Encoded*>(data)->at = offset;
  return FLAC__STREAM_ENCODER_SEEK_STATUS_OK;
}
FLAC__StreamEncoderTellStatus tell(const FLAC__StreamEncoder*, FLAC__uint64* offset, void* data) {
  *offset = static_cast<Encoded*>(data)->at;
  return FLAC__STREAM_ENCODER_TELL_STATUS_OK;
}

// `samples`: [frame, channel]
std::string encode(const std::vector<FLAC__int32>& samples, unsigned channels, unsigned bits,
                   unsigned rate = 16000, unsigned block = 0) {
  Encoded file;
  FLAC__StreamEncoder* encoder = FLAC__stream_encoder_new();
  FLAC__stream_encoder_set_channels(encoder, channels);
  FLAC__stream_encoder_set_bits_per_sample(encoder, bits);
  FLAC__stream_encoder_set_sample_rate(encoder, rate);
  FLAC__stream_encoder_set_streamable_subset(encoder, false);
  if (block > 0) FLAC__stream_encoder_set_blocksize(encoder, block);
  EXPECT_EQ(FLAC__stream_encoder_init_stream(encoder, put, seek, tell, nullptr, &file),
            FLAC__STREAM_ENCODER_INIT_STATUS_OK);
  const auto frames = static_cast<unsigned>(samples.size()) / channels;
  EXPECT_TRUE(FLAC__stream_encoder_process_interleaved(encoder, samples.data(), frames));
  EXPECT_TRUE(FLAC__stream_encoder_finish(encoder));
  FLAC__stream_encoder_delete(encoder);
  return file.bytes;
}

std::vector<FLAC__int32> noise(std::size_t size, int bits) {
  std::vector<FLAC__int32> out(size);
  std::uint32_t state = 1;
  for (auto& x : out) {
    state = state * 1664525 + 1013904223;
    x = static_cast<std::int32_t>(state) >> (32 - bits);
  }
  return out;
}

Sound parse(const std::string& bytes) { return parse_flac(as_bytes(bytes), "x.flac"); }

std::string corruption(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(ParseFlac, SamplesOfEveryWidth) {
  EXPECT_THAT(parse(encode({-128, 0, 64}, 1, 8)).samples, ElementsAre(-1, 0, 0.5));
  EXPECT_THAT(parse(encode({-32768, 0, 1}, 1, 16)).samples, ElementsAre(-1, 0, 1 / 32768.0f));
  EXPECT_THAT(parse(encode({-8388608, 0, 4194304}, 1, 24)).samples, ElementsAre(-1, 0, 0.5));
}

TEST(ParseFlac, EverySampleOfManyBlocksAndChannels) {
  for (const unsigned channels : {1, 2, 3, 8}) {
    const auto samples = noise(3000 * channels, 16);
    const Sound sound = parse(encode(samples, channels, 16, 44100, 512));
    EXPECT_EQ(sound.channels, channels);
    EXPECT_EQ(sound.sample_rate, 44100);
    ASSERT_EQ(sound.frames(), 3000);
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(sound.samples[i], static_cast<float>(samples[i]) / 32768) << i;
  }
}

TEST(ParseFlac, EveryCutIsAnError) {
  const std::string whole = encode(noise(300, 8), 1, 8, 16000, 64);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(corruption(whole.substr(0, size)), StartsWith("x.flac: ")) << size;
  EXPECT_EQ(corruption("fLaC"), "x.flac: has no whole FLAC header (STREAMINFO)");
}

TEST(ParseFlac, EveryFlippedByteOfTheSoundIsAnError) {
  const std::string whole = encode(noise(300, 8), 1, 8, 16000, 64);
  for (std::size_t at = whole.size() - 200; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THAT(corruption(damaged), StartsWith("x.flac: after ")) << at;
  }
}

TEST(ParseFlac, DamageIsNamedWithItsPlace) {
  const std::string whole = encode(noise(300, 8), 1, 8, 16000, 64);
  std::string damaged = whole;
  damaged[whole.size() - 3] = static_cast<char>(damaged[whole.size() - 3] ^ 1);
  EXPECT_EQ(corruption(damaged),
            "x.flac: after 256 of 300 frames of sound the checksum of a block is not that of its bytes");
  damaged = whole;
  damaged[8 + 18] = static_cast<char>(damaged[8 + 18] ^ 1);  // the MD5
  EXPECT_EQ(corruption(damaged),
            "x.flac: after 300 of 300 frames of sound their MD5 is not that of the header");
  EXPECT_THAT(corruption(whole.substr(0, whole.size() - 1)),
              HasSubstr("x.flac: after 256 of 300 frames of sound"));
}

TEST(ReadSound, Flac) {
  const test::Folder folder;
  const auto path = folder.put("a.flac", encode({0, 64, 0, -64}, 2, 8, 8000));
  EXPECT_EQ(read_sound(path).sample_rate, 8000);
  EXPECT_THAT(read_mono(path, 8000), ElementsAre(0.25, -0.25));
}

}  // namespace
}  // namespace bora::audio
