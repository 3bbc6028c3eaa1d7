// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// FLAC (RFC 9639) by libFLAC, which reads what the library here asks it to, block after block.
#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>

#include "bora/audio/sound.h"
#include "bora/base/error.h"

namespace bora::audio {
namespace {

struct DeleteDecoder {
  void operator()(FLAC__StreamDecoder* decoder) const { FLAC__stream_decoder_delete(decoder); }
};

// What the library calls back into. It is C: nothing may be thrown through it.
struct Reading {
  std::span<const std::byte> left;
  Sound sound;
  std::uint64_t expected = 0;  // frames that the header says; 0: it does not
  unsigned bits = 0;
  std::string problem;           // the first one of take_block
  const char* damage = nullptr;  // the first one of libFLAC
  std::exception_ptr thrown;     // in a callback
};

Reading& reading_of(void* data) { return *static_cast<Reading*>(data); }

FLAC__StreamDecoderReadStatus give_bytes(const FLAC__StreamDecoder* /*decoder*/, FLAC__byte* buffer,
                                         std::size_t* bytes, void* data) {
  auto& left = reading_of(data).left;
  *bytes = std::min(*bytes, left.size());
  if (*bytes == 0) return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
  std::memcpy(buffer, left.data(), *bytes);
  left = left.subspan(*bytes);
  return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

void take_header(const FLAC__StreamDecoder* /*decoder*/, const FLAC__StreamMetadata* metadata, void* data) {
  if (metadata->type != FLAC__METADATA_TYPE_STREAMINFO) return;
  auto& reading = reading_of(data);
  const auto& info = metadata->data.stream_info;
  reading.sound.sample_rate = info.sample_rate;
  reading.sound.channels = info.channels;
  reading.bits = info.bits_per_sample;
  reading.expected = info.total_samples;
}

// Some bytes of silence can stand for hours of it.
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 31;

bool has_room(const FLAC__FrameHeader& header, Reading& reading) {
  const std::uint64_t more = std::uint64_t{header.blocksize} * header.channels;
  if (reading.sound.samples.size() + more <= kMostSamples) return true;
  reading.problem = fmt::format("there are more than {} samples", kMostSamples);
  return false;
}

bool agrees(const FLAC__FrameHeader& header, Reading& reading) {
  if (header.sample_rate == reading.sound.sample_rate && header.channels == reading.sound.channels &&
      header.bits_per_sample == reading.bits)
    return true;
  reading.problem =
      fmt::format("a block has {} channels of {} bits at {} Hz, but the header says {} of {} at {}",
                  header.channels, header.bits_per_sample, header.sample_rate, reading.sound.channels,
                  reading.bits, reading.sound.sample_rate);
  return false;
}

FLAC__StreamDecoderWriteStatus take_block(const FLAC__Frame* block, const FLAC__int32* const channels[],
                                          Reading& reading) {
  if (!reading.problem.empty() || !agrees(block->header, reading) || !has_room(block->header, reading))
    return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  const double scale = std::ldexp(1.0, 1 - static_cast<int>(reading.bits));
  for (unsigned i = 0; i < block->header.blocksize; ++i) {
    for (unsigned c = 0; c < block->header.channels; ++c)
      reading.sound.samples.push_back(static_cast<float>(channels[c][i] * scale));
  }
  return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

FLAC__StreamDecoderWriteStatus take_or_abort(const FLAC__StreamDecoder* /*decoder*/, const FLAC__Frame* block,
                                             const FLAC__int32* const channels[], void* data) {
  auto& reading = reading_of(data);
  try {
    return take_block(block, channels, reading);
  } catch (...) {
    reading.thrown = std::current_exception();
    return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }
}

const char* words_of(FLAC__StreamDecoderErrorStatus status) {
  switch (status) {
    case FLAC__STREAM_DECODER_ERROR_STATUS_LOST_SYNC:
      return "no block begins where one should";
    case FLAC__STREAM_DECODER_ERROR_STATUS_BAD_HEADER:
      return "the header of a block is damaged";
    case FLAC__STREAM_DECODER_ERROR_STATUS_FRAME_CRC_MISMATCH:
      return "the checksum of a block is not that of its bytes";
    default:
      return "a block cannot be read";
  }
}

void take_error(const FLAC__StreamDecoder* /*decoder*/, FLAC__StreamDecoderErrorStatus status, void* data) {
  const char*& damage = reading_of(data).damage;
  if (damage == nullptr) damage = words_of(status);
}

using Decoder = std::unique_ptr<FLAC__StreamDecoder, DeleteDecoder>;

Decoder open(Reading& reading) {
  Decoder decoder(FLAC__stream_decoder_new());
  if (!decoder) fail(ErrorKind::Io, "libFLAC: no memory for a decoder");
  FLAC__stream_decoder_set_md5_checking(decoder.get(), true);
  const auto status =
      FLAC__stream_decoder_init_stream(decoder.get(), give_bytes, nullptr, nullptr, nullptr, nullptr,
                                       take_or_abort, take_header, take_error, &reading);
  if (status != FLAC__STREAM_DECODER_INIT_STATUS_OK)
    fail(ErrorKind::Io, "libFLAC: {}", FLAC__StreamDecoderInitStatusString[status]);
  return decoder;
}

[[noreturn]] void refuse(const Reading& reading, std::string_view name, std::string_view problem) {
  const auto channels = std::max<std::int64_t>(reading.sound.channels, 1);
  const auto frames = std::ssize(reading.sound.samples) / channels;
  const auto of = reading.expected > 0 ? fmt::format(" of {}", reading.expected) : std::string();
  fail(ErrorKind::Corruption, "{}: after {}{} frames of sound {}", name, frames, of, problem);
}

void refuse_problems(const Reading& reading, std::string_view name) {
  if (reading.thrown) std::rethrow_exception(reading.thrown);
  if (!reading.problem.empty()) refuse(reading, name, reading.problem);
  if (reading.damage != nullptr) refuse(reading, name, reading.damage);
}

void check_header(const Reading& reading, std::string_view name) {
  const auto rate = reading.sound.sample_rate;
  if (reading.sound.channels == 0)
    fail(ErrorKind::Corruption, "{}: has no whole FLAC header (STREAMINFO)", name);
  if (rate < kLowestRate || rate > kHighestRate)
    fail(ErrorKind::Corruption, "{}: the sample rate should be between {} and {} but is {}", name,
         kLowestRate, kHighestRate, rate);
}

// One block after the other, so that the first problem ends it.
void read_blocks(FLAC__StreamDecoder* decoder, const Reading& reading, std::string_view name) {
  while (FLAC__stream_decoder_get_state(decoder) != FLAC__STREAM_DECODER_END_OF_STREAM) {
    const bool read = FLAC__stream_decoder_process_single(decoder);
    refuse_problems(reading, name);
    if (!read) refuse(reading, name, "a block cannot be read");
  }
}

}  // namespace

Sound parse_flac(std::span<const std::byte> bytes, std::string_view name) {
  Reading reading{.left = bytes};
  const Decoder decoder = open(reading);
  FLAC__stream_decoder_process_until_end_of_metadata(decoder.get());
  check_header(reading, name);
  refuse_problems(reading, name);
  read_blocks(decoder.get(), reading, name);
  const auto frames = static_cast<std::uint64_t>(reading.sound.frames());
  if (frames == 0) fail(ErrorKind::Corruption, "{}: holds no samples", name);
  if (reading.expected > 0 && frames != reading.expected) refuse(reading, name, "the file ends");
  if (!FLAC__stream_decoder_finish(decoder.get()))
    refuse(reading, name, "their MD5 is not that of the header");
  return std::move(reading.sound);
}

}  // namespace bora::audio
