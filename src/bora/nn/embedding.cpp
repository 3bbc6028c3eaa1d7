// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/embedding.h"

#include <algorithm>
#include <cmath>

#include "bora/core/elementwise.h"
#include "bora/core/mapping.h"
#include "bora/core/shape.h"
#include "bora/nn/kv_cache.h"

namespace bora::nn {

double rounded(double value, core::DType dtype) {
  using core::DType;
  if (dtype == DType::f64 || !core::is_floating(dtype)) return value;
  const int digits = dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

core::Array detail::add_positions(const core::Operand& x, const core::Array& table, std::string_view position,
                                  core::Names place, const CachePass& pass) {
  const auto at = static_cast<int>(std::find(x.names.begin(), x.names.end(), position) - x.names.begin());
  const auto n = core::whole_size(x.array, at);
  if (const auto names = pass.rows_as_positions(x, position); !names.empty())
    return core::binary(core::Binary::add, {x.array, names}, {pass.at_first_positions(table), place}, names);
  return pass.by_row(x.array, [&](const core::Array& row, std::int64_t r) {
    const auto vectors = core::slice({table, place}, position, pass.first_position(r), n);
    return core::binary(core::Binary::add, {row, x.names}, {vectors, place}, x.names);
  });
}

}  // namespace bora::nn
