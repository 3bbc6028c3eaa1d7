// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GGUF, version 3: the file of a model and its tokenizer that llama.cpp reads.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bora/base/file.h"

namespace bora::checkpoint {

/// How the numbers of a tensor are stored. q8_0: blocks of 32 along the last axis, each an f16 scale and 32
/// whole numbers.
enum class GgufType : std::uint32_t { f32 = 0, q8_0 = 8, bf16 = 30 };
/// "f32", "bf16", "q8_0".
const std::vector<std::string>& gguf_type_names();
/// Usage error with these names for another word.
GgufType parse_gguf_type(const std::string& word);

using GgufValue = std::variant<std::uint32_t, float, bool, std::string, std::vector<std::string>,
                               std::vector<std::int32_t>, std::vector<float>>;

/// A tensor to be written: `values` is called once, when its turn comes, and gives its values row-major.
struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;  ///< a tensor whose last axis is no multiple of 32 becomes f32 for q8_0
  std::vector<std::int64_t> shape;
  std::function<std::vector<float>()> values;
};

struct GgufContent {
  std::vector<std::pair<std::string, GgufValue>> metadata;  ///< in this order
  std::vector<GgufTensor> tensors;
};

/// Writes `path` whole or not at all. Errors: InvalidArgument for a name that stands there twice, or a source
/// that gives another number of values.
void write_gguf(const std::string& path, const GgufContent& content);

}  // namespace bora::checkpoint
