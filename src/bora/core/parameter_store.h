// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Parameters whose values are not in memory all the time: the part of fully sharded training that models and
// autograd see.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "bora/core/array.h"

namespace bora::core {

/// Keeps the values of parameters somewhere else (on other workers) and brings them when they are needed. All
/// workers compute the same operations in the same order, so its calls may be collective.
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;

  /// New parameters need no values: a plan of a model.
  virtual bool shapes_only() const { return false; }
  /// A parameter was made, with its values; they may be taken away at once.
  virtual void created(Array& parameter, Names names) = 0;
  /// These are used all through a step: their values must be in memory, and stay.
  virtual void hold(std::span<const Array> parameters) = 0;
  /// These are used from here on: their values must be in memory. Those that were needed before may go.
  virtual void need(std::span<const Array> parameters) = 0;
};

/// While it lives, `store` keeps this thread's parameters. They nest; the innermost counts.
class ParameterStoreScope {
 public:
  explicit ParameterStoreScope(ParameterStore& store);
  ~ParameterStoreScope();
  ParameterStoreScope(const ParameterStoreScope&) = delete;
  ParameterStoreScope& operator=(const ParameterStoreScope&) = delete;

 private:
  ParameterStore* before_;
};

/// The store of this thread, or null: parameters stay in memory.
ParameterStore* parameter_store();

/// f() with the values of `parameters` in memory, here and when the backward pass comes to what f recorded.
/// The gradients of `parameters` flow as usual.
std::vector<Array> with_parameters(std::vector<Array> parameters,
                                   const std::function<std::vector<Array>()>& f);

// The values of an array that owns its memory alone (contiguous, no view of another); the shape stays.
bool values_present(const Array& x);
void drop_values(Array& x);  ///< reading them before make_room() is an error of the program
void make_room(Array& x);    ///< contents not set

}  // namespace bora::core
