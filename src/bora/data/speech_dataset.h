// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/audio/log_mel.h"
#include "bora/base/json.h"
#include "bora/data/dataset.h"
#include "bora/store/documents.h"

namespace bora::data {

/// The file of sound of a record: text, or the "path" of an object, as `datasets` writes it. Errors, all
/// Corruption: there is no such field, or it is something else.
const std::string& sound_path(const Json& record, const std::string& audio_key);

/// Those of all records of these files, in their order. Errors: as above, with file and line; NotFound, with file
/// and line, for one that is not there.
std::vector<std::string> sounds_of(const std::vector<std::string>& files, const store::TextFormat& format,
                                   const std::string& audio_key);

/// Texts with the sound that each was said in. The features are made when a sequence is read: log-mel, of the
/// sound at 16 kHz, one channel, filled up with silence.
class SpeechDataset final : public Dataset {
 public:
  /// Text i was said in sound i. Errors: Corruption unless there are as many; InvalidArgument for a shape that
  /// is no whole number of seconds.
  SpeechDataset(DatasetPtr texts, std::vector<std::string> sounds, const SoundShape& shape);

  std::int64_t size() const override { return texts_->size(); }
  std::int64_t seq_len() const override { return texts_->seq_len(); }
  SoundShape sound() const override { return shape_; }
  /// Errors: those of audio::read_sound; Corruption for a sound that is longer than the shape.
  std::int32_t read(std::int64_t index, const Row& row) const override;

 private:
  void read_features(const std::string& path, std::span<float> features) const;

  DatasetPtr texts_;
  std::vector<std::string> sounds_;
  SoundShape shape_;
  audio::LogMel log_mel_;
};

}  // namespace bora::data
