// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One operation, or a few, with made-up inputs: its value and gradients under this thread's mapping, for
// tests that compare mappings.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/core/reduce.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh::testing {

using core::Array;
using core::Operand;
using NameList = std::vector<std::string_view>;

struct Input {
  NameList names;
  std::vector<std::int64_t> sizes;
  std::int64_t below = 0;  ///< > 0: whole numbers less than this
};

struct Result {
  Array array;
  NameList names;
};

struct Case {
  std::string name;
  std::vector<Input> inputs;
  std::function<Result(std::span<const Operand>)> op;
};

inline std::int64_t count(std::span<const std::int64_t> sizes) {
  std::int64_t n = 1;
  for (const auto size : sizes) n *= size;
  return n;
}

inline Array made(const Input& input, std::size_t seed) {
  const core::Shape shape{input.names, input.sizes};
  if (input.below == 0) return core::random_normal(Key::from_seed(seed), shape);
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < count(input.sizes); ++i)
    values.push_back(static_cast<std::int32_t>((i * 7 + static_cast<std::int64_t>(seed)) % input.below));
  return core::from_data(shape, std::span<const std::int32_t>(values));
}

/// The largest error, as a part of the largest value; not a number where one is none.
inline float error_of(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return std::numeric_limits<float>::infinity();
  float largest = 1, worst = 0;
  for (const float w : want) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i])) return got[i];
    worst = std::max(worst, std::abs(got[i] - want[i]) / largest);
  }
  return worst;
}

struct Outcome {
  std::vector<float> value;
  std::vector<std::vector<float>> gradients;  ///< whole, of the floating inputs
};

// A scalar that depends on every element of y in its own way.
inline Array weighed(const Result& y) {
  const Array all = core::whole({y.array, y.names});
  const core::MappingScope alone(nullptr);
  const Array weights = core::random_normal(Key::from_seed(99), {y.names, all.sizes()});
  const Array product = core::binary(core::Binary::multiply, {all, y.names}, {weights, y.names}, y.names);
  return core::reduce(core::Reduction::sum, {product, y.names}, y.names);
}

inline Outcome run(const Case& c) {
  std::vector<Array> arrays;
  std::vector<Array*> parameters;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) arrays.push_back(made(c.inputs[i], i));
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (c.inputs[i].below > 0) continue;
    core::place_parameter(arrays[i], c.inputs[i].names);
    parameters.push_back(&arrays[i]);
    which.push_back(i);
  }
  Outcome out;
  const auto result = core::value_and_grad(parameters, [&] {
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < arrays.size(); ++i) operands.push_back({arrays[i], c.inputs[i].names});
    const Result y = c.op(operands);
    out.value = core::stop_gradient(core::whole({y.array, y.names})).to_vector<float>();
    return weighed(y);
  });
  for (std::size_t g = 0; g < which.size(); ++g) {
    Array gradient = result.gradients[g];
    const auto& names = c.inputs[which[g]].names;
    core::sum_pending(arrays[which[g]], c.name, gradient);
    Array parameter = arrays[which[g]];
    out.gradients.push_back(core::whole({core::like(parameter, gradient), names}).to_vector<float>());
  }
  return out;
}

}  // namespace bora::mesh::testing
