// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/log_mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"

namespace bora::audio {
namespace {

using Complex = std::complex<double>;

constexpr double kHighestFrequency = 8000;

// Slaney's scale: even up to 1000 Hz, which is 15 mel, and from there 27 mel for each factor of 6.4.
const double kMelStep = 27 / std::log(6.4);

double hertz_to_mel(double f) { return f < 1000 ? 3 * f / 200 : 15 + std::log(f / 1000) * kMelStep; }

double mel_to_hertz(double mel) { return mel < 15 ? 200 * mel / 3 : 1000 * std::exp((mel - 15) / kMelStep); }

// `count` + 2 frequencies, evenly apart in mel: where triangles begin, peak and end.
std::vector<double> corners(std::int64_t count) {
  const double last = hertz_to_mel(kHighestFrequency);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < count + 2; ++i)
    frequencies.push_back(mel_to_hertz(last * static_cast<double>(i) / static_cast<double>(count + 1)));
  return frequencies;
}

// Triangles of the same area.
double triangle(double f, double begin, double peak, double end) {
  const double height = std::min((f - begin) / (peak - begin), (end - f) / (end - peak));
  return std::max(0.0, height) * 2 / (end - begin);
}

std::vector<double> mel_filters(const FeatureConfig& config) {
  const std::int64_t frequencies = config.n_fft / 2 + 1;
  const std::vector<double> at = corners(config.feature_size);
  const auto half = config.sampling_rate / 2;  // whole, as the reference has it
  const double step =
      static_cast<double>(half) / static_cast<double>(std::max<std::int64_t>(1, frequencies - 1));
  std::vector<double> filters;
  for (std::size_t bin = 0; bin + 2 < at.size(); ++bin) {
    for (std::int64_t k = 0; k < frequencies; ++k)
      filters.push_back(triangle(static_cast<double>(k) * step, at[bin], at[bin + 1], at[bin + 2]));
  }
  return filters;
}

std::vector<double> hann(std::int64_t size) {
  std::vector<double> window;
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
    window.push_back(0.5 - 0.5 * std::cos(angle));
  }
  return window;
}

std::vector<Complex> roots_of_unity(std::int64_t n) {
  std::vector<Complex> roots;
  for (std::int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  return roots;
}

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

Complex times(const Complex& a, const Complex& b) {  // of finite numbers
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The discrete Fourier transform of in[0], in[stride], ..., n of them; stride * n == roots.size(). By Cooley
// and Tukey: as many transforms as n's smallest factor, of every so many-th input, and their sums.
std::vector<Complex> transform(const double* in, std::size_t n, std::size_t stride,
                               const std::vector<Complex>& roots) {
  const std::size_t factor = smallest_factor(n), part = n / factor;
  std::vector<Complex> out(n), parts;
  const auto next = [n](std::size_t turn, std::size_t by) {
    return turn + by < n ? turn + by : turn + by - n;
  };
  if (part == 1) {
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t r = 0, turn = 0; r < n; ++r, turn = next(turn, k))
        out[k] += roots[turn * stride] * in[r * stride];
    return out;
  }
  for (std::size_t r = 0; r < factor; ++r) {
    const auto one = transform(in + r * stride, part, stride * factor, roots);
    parts.insert(parts.end(), one.begin(), one.end());
  }
  if (factor == 2) {  // the roots of the second half are those of the first, negated
    for (std::size_t k = 0; k < part; ++k) {
      const Complex turned = times(roots[k * stride], parts[part + k]);
      out[k] = parts[k] + turned;
      out[part + k] = parts[k] - turned;
    }
    return out;
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t r = 0, turn = 0; r < factor; ++r, turn = next(turn, k))
      out[k] += times(roots[turn * stride], parts[r * part + k % part]);
  return out;
}

// The chunk with half a frame mirrored before its start and after its end, the outermost samples once.
std::vector<double> mirrored(std::span<const double> chunk, const FeatureConfig& config) {
  const auto half = static_cast<std::ptrdiff_t>(config.n_fft / 2);
  std::vector<double> out(chunk.rend() - half - 1, chunk.rend() - 1);
  out.insert(out.end(), chunk.begin(), chunk.end());
  out.insert(out.end(), chunk.rbegin() + 1, chunk.rbegin() + 1 + half);
  return out;
}

void check(const FeatureConfig& config, ErrorKind kind, std::string_view name) {
  const auto within = [&](const char* key, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return;
    fail(kind, "{}: {} should be between {} and {} but is {}", name, key, low, high, value);
  };
  within("feature_size", config.feature_size, 1, 1024);
  within("sampling_rate", config.sampling_rate, 1000, 768000);
  within("chunk_length", config.chunk_length, 1, 3600);
  within("n_fft", config.n_fft, 2, std::min<std::int64_t>(65536, config.samples()));
  within("hop_length", config.hop_length, 1, config.samples());
}

void refuse_other(const Json& json, std::string_view name) {
  const std::string kind =
      json_get<std::string>(json, "feature_extractor_type", name, "WhisperFeatureExtractor");
  if (kind != "WhisperFeatureExtractor") {
    fail(ErrorKind::Unsupported, "{}: feature_extractor_type is {}; Bora has WhisperFeatureExtractor", name,
         kind);
  }
  for (const char* key : {"dither", "padding_value"}) {
    if (const double value = json_get<double>(json, key, name, 0.0); value != 0)
      fail(ErrorKind::Unsupported, "{}: {} is {}; Bora has 0 alone", name, key, value);
  }
  if (json_get<bool>(json, "do_normalize", name, false))
    fail(ErrorKind::Unsupported, "{}: do_normalize is true; Bora has false alone", name);
}

}  // namespace

FeatureConfig whisper_features(std::int64_t mel_bins, std::int64_t frames) {
  FeatureConfig config;
  config.feature_size = mel_bins;
  config.chunk_length = frames * config.hop_length / config.sampling_rate;
  if (config.frames() != frames) {
    fail(ErrorKind::InvalidArgument,
         "features: {} frames are no whole number of seconds\nhint: 100 frames are a second", frames);
  }
  return config;
}

FeatureConfig parse_feature_config(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  if (!json.is_object()) fail(ErrorKind::Corruption, "{}: should be an object", name);
  refuse_other(json, name);
  FeatureConfig config;
  const auto get = [&](const char* key, std::int64_t& value) { value = json_get(json, key, name, value); };
  get("feature_size", config.feature_size);
  get("sampling_rate", config.sampling_rate);
  get("hop_length", config.hop_length);
  get("n_fft", config.n_fft);
  get("chunk_length", config.chunk_length);
  check(config, ErrorKind::Corruption, name);
  return config;
}

FeatureConfig read_feature_config(const std::string& path) {
  return parse_feature_config(read_text(path), path);
}

LogMel::LogMel(const FeatureConfig& config) : config_(config) {
  check(config, ErrorKind::InvalidArgument, "log-mel features");
  window_ = hann(config.n_fft);
  roots_ = roots_of_unity(config.n_fft);
  filters_ = mel_filters(config);
}

// [frequency]
std::vector<double> LogMel::power(std::span<const double> mirrored, std::int64_t frame) const {
  std::vector<double> windowed(window_.size());
  const double* first = mirrored.data() + frame * config_.hop_length;
  for (std::size_t i = 0; i < windowed.size(); ++i) windowed[i] = first[i] * window_[i];
  if (std::all_of(windowed.begin(), windowed.end(), [](double x) { return x == 0; }))
    return std::vector<double>(windowed.size() / 2 + 1);  // what a chunk is filled up with
  const auto spectrum = transform(windowed.data(), windowed.size(), 1, roots_);
  std::vector<double> out(windowed.size() / 2 + 1);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = std::norm(spectrum[k]);
  return out;
}

std::vector<float> LogMel::operator()(std::span<const float> sound) const {
  std::vector<double> chunk(static_cast<std::size_t>(config_.samples()));
  std::copy_n(sound.begin(), std::min(sound.size(), chunk.size()), chunk.begin());
  return features(chunk);
}

std::vector<float> LogMel::whole(std::span<const float> sound) const {
  if (std::ssize(sound) < std::max(config_.n_fft, config_.hop_length)) {
    fail(ErrorKind::InvalidArgument, "log-mel features: a sound of {} samples, but a frame has {}",
         sound.size(), config_.n_fft);
  }
  return features(std::vector<double>(sound.begin(), sound.end()));
}

std::vector<float> LogMel::features(std::span<const double> chunk) const {
  const auto bins = static_cast<std::size_t>(config_.feature_size);
  const auto frames = chunk.size() / static_cast<std::size_t>(config_.hop_length);
  const std::vector<double> samples = mirrored(chunk, config_);
  std::vector<double> logs(bins * frames);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const std::vector<double> spectrum = power(samples, static_cast<std::int64_t>(frame));
    const double* filter = filters_.data();
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double sum = 0;
      for (const double value : spectrum) sum += value * *filter++;
      logs[bin * frames + frame] = std::log10(std::max(sum, 1e-10));
    }
  }
  const double floor = *std::max_element(logs.begin(), logs.end()) - 8;
  std::vector<float> out(logs.size());
  std::transform(logs.begin(), logs.end(), out.begin(),
                 [floor](double x) { return static_cast<float>((std::max(x, floor) + 4) / 4); });
  return out;
}

}  // namespace bora::audio
