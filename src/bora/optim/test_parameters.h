// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Parameters and gradients that tests of optimizers share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/core/parameter.h"

namespace bora::optim {

inline constexpr std::string_view kAxes[] = {"x"};
inline constexpr std::int64_t kSizes[] = {37, 20003};
inline constexpr std::string_view kPaths[] = {"norm.weight", "proj.weight"};
inline constexpr core::Role kRoles[] = {core::Role::norm, core::Role::weight};

inline core::Array random_array(std::uint64_t seed, std::int64_t size, double scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(size));
  const Key key = Key::from_seed(seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((2 * key.uniform(i) - 1) * scale);
  return core::from_data({kAxes, {&size, 1}}, std::span<const float>(values));
}

// Two parameters: one that decays by default and one that does not.
struct Model {
  Model() {
    for (std::size_t i = 0; i < 2; ++i) arrays[i] = random_array(i, kSizes[i]);
  }
  std::vector<core::Parameter> parameters() {
    std::vector<core::Parameter> out;
    for (std::size_t i = 0; i < 2; ++i) {
      out.push_back({.path = std::string(kPaths[i]), .axes = {"x"}, .role = kRoles[i], .array = &arrays[i]});
    }
    return out;
  }
  core::Array arrays[2];
};

inline std::vector<core::Array> gradients_of_step(std::int64_t step, double scale = 1) {
  std::vector<core::Array> out;
  for (std::uint64_t i = 0; i < 2; ++i) {
    out.push_back(random_array(100 + 2 * static_cast<std::uint64_t>(step) + i, kSizes[i], scale));
  }
  return out;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace bora::optim
