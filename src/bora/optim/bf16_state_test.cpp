// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// State in bf16: optimizer.state_dtype.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/step_ops.h"
#include "bora/core/update.h"
#include "bora/optim/adam.h"
#include "bora/optim/sgd.h"
#include "bora/optim/step_parts.h"
#include "bora/optim/test_parameters.h"

namespace bora::optim {
namespace {

template <class T>
typename T::Config config_of(core::DType dtype) {
  typename T::Config config;
  config.state_dtype = dtype;
  return config;
}

AdamConfig clipped_updates() {
  auto config = config_of<Adam>(core::DType::bf16);
  config.update_rms_clipping = 0.5;
  return config;
}

// Noise around a direction that stays.
std::vector<core::Array> noisy_gradients(std::int64_t step) {
  auto out = gradients_of_step(step);
  for (std::size_t i = 0; i < out.size(); ++i) core::add_scaled(out[i], 0.3F, random_array(7 + i, kSizes[i]));
  return out;
}

template <class T>
void train(T& optimizer, Model& model, std::int64_t from, std::int64_t to) {
  const auto parameters = model.parameters();
  for (std::int64_t step = from; step < to; ++step)
    optimizer.step(parameters, noisy_gradients(step),
                   {.step = step, .learning_rate = 1e-2, .key = Key::from_seed(4)});
}

std::vector<float> values_of(const Model& model) {
  std::vector<float> out;
  for (const auto& a : model.arrays)
    for (const float x : a.to_vector<float>()) out.push_back(x);
  return out;
}

// Of all changes, how far off those with state in bf16 are from those with fp32.
template <class T>
double distance_from_fp32() {
  Model start, wide, narrow;
  T with_f32(config_of<T>(core::DType::f32), wide.parameters());
  T with_bf16(config_of<T>(core::DType::bf16), narrow.parameters());
  train(with_f32, wide, 0, 100);
  train(with_bf16, narrow, 0, 100);
  const auto a = values_of(start), b = values_of(wide), c = values_of(narrow);
  double change = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    change += std::pow(static_cast<double>(b[i] - a[i]), 2);
    apart += std::pow(static_cast<double>(c[i] - b[i]), 2);
  }
  EXPECT_GT(apart, 0) << "nothing was rounded";
  return std::sqrt(apart / change);
}

TEST(Bf16State, TrainsWhereFp32Does) {
  EXPECT_LT(distance_from_fp32<Adam>(), 0.01);
  EXPECT_LT(distance_from_fp32<Sgd>(), 0.01);
}

TEST(Bf16State, TakesHalfTheBytes) {
  Model model;
  Adam adam(config_of<Adam>(core::DType::bf16), model.parameters());
  Sgd sgd(config_of<Sgd>(core::DType::bf16), model.parameters());
  for (const auto& a : adam.state()) EXPECT_EQ(a.array.dtype(), core::DType::bf16) << a.name;
  for (const auto& a : sgd.state()) EXPECT_EQ(a.array.dtype(), core::DType::bf16) << a.name;
}

// What comes out of a checkpoint goes on as if it had not stopped; chance depends on the step, not on a counter.
template <class T>
void expect_goes_on(const typename T::Config& config) {
  Model whole, parted;
  T one(config, whole.parameters()), first(config, parted.parameters()), second(config, parted.parameters());
  train(one, whole, 0, 7);
  train(first, parted, 0, 4);
  const auto saved = first.state();
  auto loaded = second.state();
  for (std::size_t i = 0; i < saved.size(); ++i) core::copy_into(loaded[i].array, saved[i].array);
  second.load_state(first.save_state(), 4);
  train(second, parted, 4, 7);
  EXPECT_EQ(values_of(whole), values_of(parted));
}
TEST(Bf16State, GoesOnWithTheSameBits) {
  expect_goes_on<Adam>(config_of<Adam>(core::DType::bf16));
  expect_goes_on<Adam>(clipped_updates());
  expect_goes_on<Sgd>(config_of<Sgd>(core::DType::bf16));
}

// Another step, name or run draws anew.
TEST(Bf16State, ChanceDependsOnRunStepAndName) {
  Model model;
  const auto p = model.parameters();
  const StepInfo info{.step = 3, .key = Key::from_seed(1)};
  const auto a = rounding(p[0], 0, info), same = rounding(p[0], 0, info),
             other_name = rounding(p[1], 1, info),
             other_step = rounding(p[0], 0, {.step = 4, .key = Key::from_seed(1)}),
             other_run = rounding(p[0], 0, {.step = 3, .key = Key::from_seed(2)});
  EXPECT_EQ(a.key, same.key);
  EXPECT_EQ(a.stream, same.stream);
  for (const auto& b : {other_name, other_step, other_run}) EXPECT_NE(a.key, b.key);
}

}  // namespace
}  // namespace bora::optim
