// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/dtype.h"

#include <array>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::core {
namespace {

struct Spelling {
  std::string_view text;
  DType dtype;
};
// The first eight are the names, in the order of the enumeration.
constexpr std::array kSpellings = {
    Spelling{"f32", DType::f32},        Spelling{"f64", DType::f64},      Spelling{"bf16", DType::bf16},
    Spelling{"f16", DType::f16},        Spelling{"i64", DType::i64},      Spelling{"i32", DType::i32},
    Spelling{"u8", DType::u8},          Spelling{"bool", DType::boolean}, Spelling{"float32", DType::f32},
    Spelling{"fp32", DType::f32},       Spelling{"float", DType::f32},    Spelling{"float64", DType::f64},
    Spelling{"fp64", DType::f64},       Spelling{"double", DType::f64},   Spelling{"bfloat16", DType::bf16},
    Spelling{"float16", DType::f16},    Spelling{"fp16", DType::f16},     Spelling{"half", DType::f16},
    Spelling{"int64", DType::i64},      Spelling{"int32", DType::i32},    Spelling{"uint8", DType::u8},
    Spelling{"boolean", DType::boolean}};
constexpr std::array<std::size_t, 8> kBytes = {4, 8, 2, 2, 8, 4, 1, 1};

}  // namespace

std::string_view name(DType dtype) { return kSpellings[static_cast<std::size_t>(dtype)].text; }

std::size_t bytes(DType dtype) { return kBytes[static_cast<std::size_t>(dtype)]; }

bool is_floating(DType dtype) { return dtype <= DType::f16; }

DType parse_dtype(std::string_view text) {
  for (const auto& [spelling, dtype] : kSpellings) {
    if (spelling == text) return dtype;
  }
  std::vector<std::string> known;
  for (const auto& spelling : kSpellings) known.emplace_back(spelling.text);
  fail(ErrorKind::Config, "dtype: {} is not one of f32, f64, bf16, f16, i64, i32, u8, bool{}", text,
       did_you_mean(text, known));
}

}  // namespace bora::core
