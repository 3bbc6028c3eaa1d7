// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/speech_dataset.h"

#include <algorithm>

#include "bora/audio/sound.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/data/record_text.h"

namespace bora::data {
namespace {

std::string beside(const std::string& file, const std::string& sound) {
  return sound.starts_with('/') ? sound : path_join(parent_path(file), sound);
}

}  // namespace

const std::string& sound_path(const Json& record, const std::string& audio_key) {
  const Json& value = record_field(record, audio_key, "audio_key");
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (const auto path = value.find("path"); value.is_object() && path != value.end() && path->is_string())
    return path->get_ref<const std::string&>();
  fail(ErrorKind::Corruption,
       "field \"{}\" should be the path of a file of sound, or an object with a \"path\", but is {}",
       audio_key, value.dump().substr(0, 40));
}

std::vector<std::string> sounds_of(const std::vector<std::string>& files, const store::TextFormat& format,
                                   const std::string& audio_key) {
  auto records = format;
  records.whole_records = true;
  std::vector<std::string> out;
  for (const auto& file : files) {
    const auto source = store::look_up_sources({file})[0];
    const auto reader = store::open_documents({source, 0, source.size}, records);
    store::TextPiece piece;
    while (reader->next(piece)) {
      in_context(reader->where(), [&] {
        const Json record = parse_record(piece.text);
        out.push_back(beside(file, sound_path(record, audio_key)));
        if (exists(out.back())) return;
        fail(ErrorKind::NotFound,
             "the sound {} is not there\nhint: paths in field \"{}\" begin at the folder of {}", out.back(),
             audio_key, file);
      });
    }
  }
  return out;
}

SpeechDataset::SpeechDataset(DatasetPtr texts, std::vector<std::string> sounds, const SoundShape& shape)
    : texts_(std::move(texts)),
      sounds_(std::move(sounds)),
      shape_(shape),
      log_mel_(audio::whisper_features(shape.mel_bins, shape.frames)) {
  if (texts_->size() == std::ssize(sounds_)) return;
  fail(
      ErrorKind::Corruption,
      "{} texts in the token cache, but {} sounds in the files that it was made of\nhint: remove the cache; it "
      "is built again",
      texts_->size(), sounds_.size());
}

std::int32_t SpeechDataset::read(std::int64_t index, const Row& row) const {
  check(index, row);
  const auto source = texts_->read(index, {row.tokens, row.segments, row.loss_weights});
  if (!row.features.empty()) read_features(sounds_[static_cast<std::size_t>(index)], row.features);
  return source;
}

void SpeechDataset::read_features(const std::string& path, std::span<float> features) const {
  const auto& c = log_mel_.config();
  const auto sound = audio::read_mono(path, c.sampling_rate);
  if (std::ssize(sound) > c.samples()) {
    fail(
        ErrorKind::Corruption,
        "{}: {:.2f} s of sound, but the model hears {} s at a time\nhint: cut it, with its text; or a larger "
        "model.max_source_positions (50 a second)",
        path, static_cast<double>(sound.size()) / static_cast<double>(c.sampling_rate), c.chunk_length);
  }
  const auto made = log_mel_(sound);
  std::copy(made.begin(), made.end(), features.begin());
}

}  // namespace bora::data
