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
  std::vector<std::string> notes = {};  ///< what llama.cpp computes otherwise all the same, a sentence each

  void put(const std::string& key, checkpoint::GgufValue value) {
    content.metadata.emplace_back(key, std::move(value));
  }
  void put_own(const std::string& key, checkpoint::GgufValue value) {
    put(architecture + "." + key, std::move(value));
  }
};

/// Rows of the matrices of queries, keys and values that llama.cpp has in another order than Hugging Face.
enum class GgufRows {
  same,
  in_turns,  ///< of each head of queries and keys, those of both halves take turns: llama.cpp turns neighbours
  by_part    ///< of a matrix [head, part, element]: all queries, then all keys, then all values
};

struct GgufFamily {
  std::string_view type;          ///< model_type of config.json
  std::string_view architecture;  ///< llama.cpp's name
  /// Components of names, Hugging Face's and llama.cpp's: each is put in its place once, in this order. Experts
  /// are one tensor, without their number; columns of a tensor are one of their own, called NAME[first::step].
  std::vector<std::pair<std::string_view, std::string_view>> names;
  GgufRows rows = GgufRows::same;
  bool adds_one = false;  ///< norms are stored as 1 + weight
  /// What the model is like. Unsupported, by name, for what llama.cpp would compute otherwise.
  void (*describe)(const Json& config, GgufDraft& out);
};

/// That of a model_type; null where llama.cpp has none, or computes it otherwise.
const GgufFamily* gguf_family(std::string_view type);
/// The first that llama.cpp calls so; null where Bora reads and writes none.
const GgufFamily* gguf_family_of(std::string_view architecture);
/// "gpt2, llama, ..."
std::string gguf_family_names();
std::string gguf_architecture_names();

/// Unsupported, with the other layout as a hint.
[[noreturn]] void refuse_gguf(const std::string& what);
/// Llama 3's scaling, as divisors of each frequency: short waves keep theirs, long ones are stretched by `factor`,
/// with a straight line between them. `head`: elements of a head.
std::vector<float> llama3_divisors(const Json& scaling, double theta, std::int64_t head);
/// Elements of a head, and how many heads there are.
std::int64_t gguf_head_dim(const Json& config);
std::int64_t gguf_heads(const Json& config);
/// Those of a head that turn with the position, where a part does.
std::int64_t gguf_rotary_dim(const Json& config);
/// Whether models of an architecture are scaled by yarn in all layers that llama.cpp scales.
bool gguf_has_yarn(std::string_view architecture);
/// Of gpt-oss, a key of Bora's own: the bounds of its yarn are rounded, which its config.json can say.
inline constexpr std::string_view kGgufTruncates = "bora.rope.scaling.truncate";
/// Of gptneox, a key of Bora's own: the GELU of the model where it is not the exact one, for which llama.cpp takes that
/// by tanh, too.
inline constexpr std::string_view kGgufActivation = "bora.hidden_act";
/// Of phi3, whose scaling is by factors: how queries and keys are scaled.
double gguf_longrope_scale(const Json& config);

}  // namespace bora::run
