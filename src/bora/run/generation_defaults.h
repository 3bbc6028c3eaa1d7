// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a model's generation_config.json says in place of flags that the user leaves out, as `transformers` takes it.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/base/range.h"
#include "bora/infer/sampler.h"

namespace bora::run {

/// Values of generation_config.json for flags that are not given.
class GenerationDefaults {
 public:
  /// `given`: "--top_k", flags that stay what they are. All three outlive it.
  GenerationDefaults(const Json& generation, const std::string& file, const std::set<std::string>& given)
      : generation_(generation), file_(file), given_(given) {}

  /// The value of a key that is not null, or nothing.
  const Json* find(const char* key) const;
  bool is_given(const std::string& flag) const { return given_.contains(flag); }
  /// True where it says so. Corruption for what is neither true nor false.
  bool says(const char* key) const;
  /// Corruption, with file, key, value and what the flag takes, for another value.
  void take(const char* key, const std::string& flag, const Range& range, double& value);
  void take(const char* key, const std::string& flag, const Range& range, std::int64_t& value);
  void tell(std::string what) { told_.push_back(std::move(what)); }
  [[noreturn]] void refuse(const char* key, const std::string& why, const std::string& hint) const;
  /// What was taken and is not the flag's own default: "temperature 0.6, top_p 0.9"; "": nothing.
  std::string told() const;

 private:
  template <class T>
  void take_number(const char* key, const std::string& flag, const Range& range, T& value);

  const Json& generation_;
  const std::string& file_;
  const std::set<std::string>& given_;
  std::vector<std::string> told_;
};

/// How a text is drawn where no flag says it: temperature, top_k, top_p and min_p of a file with do_sample: true, and
/// repetition_penalty of every one. Without do_sample the options stay what they are. Returns what was taken and where
/// from: "temperature 0.6, top_p 0.9 of MODEL/generation_config.json"; "": nothing that changes a text. Errors:
/// Corruption, with file and key.
std::string take_sampling_defaults(const Json& generation, const std::string& file,
                                   const std::set<std::string>& given, infer::SamplingOptions& options);

enum class Decoding : std::uint8_t { Greedy, Sampled, Speech };
/// Keys that change what `transformers` writes and that have no effect here, with their values: "M: num_beams = 4 is
/// not used here" of a file M; "": none.
std::string unused_settings(const Json& generation, const std::string& file, Decoding decoding);

}  // namespace bora::run
