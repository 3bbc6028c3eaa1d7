// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// Operations are recorded for differentiation only inside these functions; elsewhere nothing is. First
/// derivatives alone: one of these inside the function that another one differentiates is Unsupported; for
/// second derivatives see hessian.h.

struct ValueAndGrad {
  Array value;                   ///< what `f` returned (a scalar)
  std::vector<Array> gradients;  ///< one for each parameter; zeros where f does not depend on it
  bool depends = false;          ///< f depends on one of them
};
ValueAndGrad value_and_grad(std::span<Array* const> parameters, const std::function<Array()>& f);
/// Fails: the loss of a model depends on none of so many parameters.
[[noreturn]] void fail_no_gradient(std::size_t parameters, std::string_view model);

/// How many bytes of gradients, of so many, may wait on a device to be added by one launch: few, since beyond some ten nothing
/// is won by that but memory is lost.
constexpr std::int64_t most_waiting_gradients(std::int64_t all) {
  constexpr std::int64_t kMost = std::int64_t{64} << 20;
  return all / 8 < kMost ? all / 8 : kMost;
}

/// Where a backward pass leaves its gradients: one array for each parameter. An empty one becomes the gradient itself.
struct GradientPlaces {
  std::span<Array> arrays;
  bool store = false;  ///< over what the arrays hold, whatever that is; else gradients are added to it
};
/// As value_and_grad, leaving the gradients in `into`.
Array accumulate_gradients(std::span<Array* const> parameters, const std::function<Array()>& f,
                           const GradientPlaces& into);

/// As value_and_grad, but each gradient goes to `take(i, gradient)` as soon as the backward pass has it, in
/// the order of that pass, and is not kept. InvalidArgument for a parameter that gets parts of its gradient
/// apart (used in two blocks that are computed again).
Array stream_gradients(std::span<Array* const> parameters, const std::function<Array()>& f,
                       const std::function<void(std::size_t, Array)>& take);

/// Not recorded from here on: the value without its history.
Array stop_gradient(const Array& x);
/// True inside value_and_grad and its kin.
bool recording();

}  // namespace bora::core
