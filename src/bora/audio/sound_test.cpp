// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/sound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "bora/audio/test_sounds.h"
#include "bora/base/error.h"

namespace bora::audio {
namespace {

using test::chunk;
using test::le;
using test::Wav;
using testing::ElementsAre;
using testing::HasSubstr;

Sound parse_wav_bytes(const std::string& bytes) { return parse_wav(as_bytes(bytes), "x.wav"); }

std::string wav_refusal(ErrorKind kind, const std::string& bytes) {
  try {
    parse_wav_bytes(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}
std::string wav_corruption(const std::string& bytes) { return wav_refusal(ErrorKind::Corruption, bytes); }
std::string unsupported(const std::string& bytes) { return wav_refusal(ErrorKind::Unsupported, bytes); }

std::string float_bytes(float x) { return le(std::bit_cast<std::uint32_t>(x), 4); }

TEST(ParseWav, WholeNumbersOfEveryWidth) {
  EXPECT_THAT(parse_wav_bytes(Wav{.bits = 8}.file(le(0, 1) + le(128, 1) + le(192, 1))).samples,
              ElementsAre(-1, 0, 0.5));
  EXPECT_THAT(parse_wav_bytes(Wav{.bits = 16}.file(le(0x8000, 2) + le(0, 2) + le(1, 2))).samples,
              ElementsAre(-1, 0, 1 / 32768.0f));
  EXPECT_THAT(parse_wav_bytes(Wav{.bits = 24}.file(le(0x800000, 3) + le(0x400000, 3))).samples,
              ElementsAre(-1, 0.5));
  EXPECT_THAT(parse_wav_bytes(Wav{.bits = 32}.file(le(0x80000000, 4) + le(0x20000000, 4))).samples,
              ElementsAre(-1, 0.25));
}

TEST(ParseWav, Floats) {
  EXPECT_THAT(parse_wav_bytes(Wav{.tag = 3, .bits = 32}.file(float_bytes(0.3f) + float_bytes(-1.5f))).samples,
              ElementsAre(0.3f, -1.5f));
  EXPECT_THAT(
      parse_wav_bytes(Wav{.tag = 3, .bits = 64}.file(le(std::bit_cast<std::uint64_t>(0.3), 8))).samples,
      ElementsAre(0.3f));
}

TEST(ParseWav, ChannelsAndRate) {
  const Sound sound = parse_wav_bytes(Wav{.channels = 2, .rate = 44100, .bits = 8}.file(le(0xC0408080, 4)));
  EXPECT_EQ(sound.sample_rate, 44100);
  EXPECT_EQ(sound.channels, 2);
  EXPECT_EQ(sound.frames(), 2);
  EXPECT_THAT(sound.samples, ElementsAre(0, 0, -0.5, 0.5));
  EXPECT_THAT(mono(sound), ElementsAre(0, 0));
}

TEST(ParseWav, ExtensibleFormatsAndOtherChunks) {
  const Wav wav{.tag = 0xFFFE, .bits = 24};
  const std::string guid = le(1, 2) + std::string(14, 'g');
  const std::string format = wav.format() + le(22, 2) + le(24, 2) + le(4, 4) + guid;
  const std::string chunks =
      chunk("LIST", "odd") + chunk("fmt ", format) + chunk("fact", "1234") + chunk("data", le(0x400000, 3));
  EXPECT_THAT(parse_wav_bytes(Wav::riff(chunks + chunk("id3 ", "after"))).samples, ElementsAre(0.5));
  EXPECT_EQ(wav_corruption(wav.file(le(0, 3))),
            "x.wav: its extensible format should have 40 bytes but has 16");
}

TEST(ParseWav, DataOfUnknownSizeEndsWithTheFile) {
  const std::string head = chunk("fmt ", Wav{}.format()) + "data" + le(0xFFFFFFFF, 4);
  EXPECT_THAT(parse_wav_bytes(Wav::riff(head + le(0x4000, 2) + le(0, 2))).samples, ElementsAre(0.5, 0));
  EXPECT_EQ(wav_corruption(Wav::riff(head)), "x.wav: holds no samples");
}

TEST(ParseWav, DamagedFilesAreNamed) {
  EXPECT_EQ(wav_corruption("RIFF"), "x.wav: a WAV file's header has 12 bytes, but the file has 4");
  EXPECT_EQ(wav_corruption("RIFF1234AVI 1234"),
            "x.wav: is no WAV file: it does not begin with RIFF and WAVE");
  EXPECT_EQ(wav_corruption(Wav::riff("")), "x.wav: has no chunk `fmt ` before its data");
  EXPECT_EQ(wav_corruption(Wav::riff(chunk("fmt ", Wav{}.format()))), "x.wav: has no chunk `data`");
  EXPECT_EQ(wav_corruption(Wav::riff(chunk("fmt ", "short") + chunk("data", "12"))),
            "x.wav: its format should have 16 bytes or more but has 5");
  EXPECT_EQ(wav_corruption(Wav{}.file("")), "x.wav: holds no samples");
  EXPECT_EQ(wav_corruption(Wav{}.file("123")),
            "x.wav: 3 bytes of data are no whole number of frames of 2 bytes");
  const std::string whole = Wav{}.file("1234");
  EXPECT_EQ(wav_corruption(whole.substr(0, whole.size() - 1)),
            "x.wav: its chunk `data` should have 4 bytes but the file ends after 3 of them");
}

TEST(ParseWav, EveryCutIsAnError) {
  const std::string whole = Wav{}.file("1234");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse_wav_bytes(whole.substr(0, size)), Error) << size;
}

TEST(ParseWav, AbsurdSizesAreNamed) {
  EXPECT_EQ(wav_corruption(Wav{.rate = 0}.file("12")),
            "x.wav: the sample rate should be between 1000 and 768000 but is 0");
  EXPECT_EQ(wav_corruption(Wav{.channels = 0}.file("12")),
            "x.wav: the number of channels should be between 1 and 64 but is 0");
  EXPECT_EQ(wav_corruption(Wav{.channels = 65}.file("12")),
            "x.wav: the number of channels should be between 1 and 64 but is 65");
  std::string wrong = Wav{}.file("1234");
  wrong[32] = 3;
  EXPECT_EQ(wav_corruption(wrong), "x.wav: 1 channels of 16 bits are 2 bytes a frame, but the header says 3");
}

TEST(ParseWav, NumbersThatAreNoSound) {
  const Wav wav{.tag = 3, .bits = 32};
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(wav_corruption(wav.file(float_bytes(0) + float_bytes(nan))),
            "x.wav: sample 1 is nan, which is no sound");
  EXPECT_EQ(wav_corruption(wav.file(float_bytes(inf))), "x.wav: sample 0 is inf, which is no sound");
}

TEST(ParseWav, OtherKindsAreNamed) {
  EXPECT_THAT(unsupported(Wav{.tag = 7, .bits = 8}.file("1")),
              HasSubstr("x.wav: format 7 with 8 bits a sample; Bora reads PCM (1) of 8, 16, 24 or 32 bits"));
  EXPECT_THAT(unsupported(Wav{.bits = 12}.file("1")), HasSubstr("format 1 with 12 bits"));
  EXPECT_THAT(unsupported(Wav{.tag = 3, .bits = 16}.file("1")), HasSubstr("format 3 with 16 bits"));
  EXPECT_THAT(unsupported("RF64" + Wav{}.file("12").substr(4)),
              HasSubstr("x.wav: WAV of the kind RF64; Bora reads RIFF"));
}

class ReadSoundTest : public testing::Test {
 protected:
  std::string wav_refusal(ErrorKind kind, const std::string& path) {
    try {
      read_sound(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      return e.what();
    }
    return "no error";
  }
  test::Folder folder_;
};

TEST_F(ReadSoundTest, ReadsByTheFirstBytes) {
  const std::string path = folder_.put("a.sound", Wav{.rate = 8000}.file(le(0x4000, 2)));
  EXPECT_EQ(read_sound(path).sample_rate, 8000);
  EXPECT_EQ(read_mono(path, 16000).size(), 2u);
  EXPECT_THAT(read_mono(path, 8000), ElementsAre(0.5));
}

TEST_F(ReadSoundTest, NamesTheFile) {
  const std::string empty = folder_.put("empty.wav", ""),
                    text = folder_.put("text.wav", "some text, no sound");
  EXPECT_EQ(wav_refusal(ErrorKind::Corruption, empty), empty + ": is empty, so it holds no sound");
  EXPECT_THAT(
      wav_refusal(ErrorKind::Unsupported, text),
      HasSubstr(text + ": is neither WAV nor FLAC: it begins with neither RIFF nor fLaC\nhint: convert "
                       "it: ffmpeg"));
  EXPECT_THAT(wav_refusal(ErrorKind::NotFound, text + ".none"), HasSubstr(text + ".none"));
}

}  // namespace
}  // namespace bora::audio
