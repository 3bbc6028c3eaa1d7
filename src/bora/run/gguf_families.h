// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What llama.cpp calls what Hugging Face's files of each family hold.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/gguf_writer.h"

namespace bora::run {

/// A file that is being described: keys of the model stand under its architecture's name.
struct GgufDraft {
  std::string architecture;
  checkpoint::GgufContent content = {};

  void put(const std::string& key, checkpoint::GgufValue value) {
    content.metadata.emplace_back(key, std::move(value));
  }
  void put_own(const std::string& key, checkpoint::GgufValue value) {
    put(architecture + "." + key, std::move(value));
  }
};

struct GgufFamily {
  std::string_view type;          ///< model_type of config.json
  std::string_view architecture;  ///< llama.cpp's name
  /// Components of names, Hugging Face's and llama.cpp's: each is put in its place once, in this order. Experts
  /// are one tensor, without their number.
  std::vector<std::pair<std::string_view, std::string_view>> names;
  /// llama.cpp turns neighbours where Hugging Face turns the halves of a head: rows of queries and keys change
  /// places.
  bool turns_neighbours = false;
  bool adds_one = false;  ///< norms are stored as 1 + weight
  /// What the model is like. Unsupported, by name, for what llama.cpp would compute otherwise.
  void (*describe)(const Json& config, GgufDraft& out);
};

/// That of a model_type; null where llama.cpp has none, or computes it otherwise.
const GgufFamily* gguf_family(std::string_view type);
/// "gpt2, llama, ..."
std::string gguf_family_names();

/// Unsupported, with the other layout as a hint.
[[noreturn]] void refuse_gguf(const std::string& what);
/// Elements of a head.
std::int64_t gguf_head_dim(const Json& config);

}  // namespace bora::run
