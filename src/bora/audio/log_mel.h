// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::audio {

/// What preprocessor_config.json of a Whisper checkpoint says, under its names.
struct FeatureConfig {
  std::int64_t feature_size = 80;      ///< mel bins
  std::int64_t sampling_rate = 16000;  ///< Hz
  std::int64_t hop_length = 160;       ///< samples from a frame to the next
  std::int64_t n_fft = 400;            ///< samples of a frame
  std::int64_t chunk_length = 30;      ///< seconds
  std::int64_t samples() const { return chunk_length * sampling_rate; }
  std::int64_t frames() const { return samples() / hop_length; }
};

/// Those of Whisper's checkpoints of so many mel bins and frames, 100 a second. Errors: InvalidArgument for frames
/// that are no whole seconds.
FeatureConfig whisper_features(std::int64_t mel_bins, std::int64_t frames);

/// Errors: Corruption for a value of the wrong type or out of range; Unsupported for another extractor, for
/// dither, for normalization and for a padding that is not silence. All name the file and the key.
FeatureConfig parse_feature_config(std::string_view json, std::string_view name);
FeatureConfig read_feature_config(const std::string& path);

/// Log-mel features as transformers' WhisperFeatureExtractor makes them: a chunk of sound, filled up with
/// silence or cut; frames of n_fft samples, mirrored at both ends, under a periodic Hann window; power
/// spectrum; Slaney's mel filters from 0 to 8000 Hz; log10 of at least 1e-10; at least the chunk's
/// largest - 8; (x + 4) / 4.
class LogMel {
 public:
  /// Errors: InvalidArgument for sizes that no sound fits.
  explicit LogMel(const FeatureConfig& config);
  const FeatureConfig& config() const { return config_; }
  /// [mel bin, frame]: feature_size rows of frames() numbers. `sound`: mono, at sampling_rate.
  std::vector<float> operator()(std::span<const float> sound) const;
  /// The same of a sound of any length, neither filled up nor cut: [mel bin, frame], sound.size() / hop_length
  /// frames, as the extractor makes them without truncation and padding. InvalidArgument for a sound of fewer
  /// than n_fft samples.
  std::vector<float> whole(std::span<const float> sound) const;
  /// The filters: [mel bin, frequency], n_fft / 2 + 1 frequencies.
  const std::vector<double>& filters() const { return filters_; }

 private:
  std::vector<float> features(std::span<const double> chunk) const;
  std::vector<double> power(std::span<const double> mirrored, std::int64_t frame) const;

  FeatureConfig config_;
  std::vector<double> window_;
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i k / n_fft)
  std::vector<double> filters_;
};

}  // namespace bora::audio
