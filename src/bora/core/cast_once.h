// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <span>

#include "bora/core/parameter.h"

namespace bora::core {

class KeptCopies;

/// While it lives, this thread converts each of `parameters` to a type of fewer bytes once: cast() gives the
/// same copy to each lane of a step, and to blocks that are computed again. Gradients flow as of any cast.
/// The values must not change meanwhile.
class CastOnceScope {
 public:
  explicit CastOnceScope(std::span<const Parameter> parameters);
  /// With the copies of an earlier scope, if they still are those of these values, and for a later one.
  CastOnceScope(std::span<const Parameter> parameters, KeptCopies& kept);
  ~CastOnceScope();
  CastOnceScope(const CastOnceScope&) = delete;
  CastOnceScope& operator=(const CastOnceScope&) = delete;

  struct Copies;

 private:
  std::unique_ptr<Copies> copies_;
  Copies* before_;
  KeptCopies* keeper_ = nullptr;
};

/// Copies in bf16 on a device, from one scope to the next. core::adamw writes them with the parameters in a scope, so that a
/// step narrows nothing; who else changes a parameter makes them worthless, and they are made anew. On the CPU
/// none are kept. Outlives the scopes that it is given to.
class KeptCopies {
 public:
  KeptCopies();
  ~KeptCopies();
  KeptCopies(const KeptCopies&) = delete;
  KeptCopies& operator=(const KeptCopies&) = delete;

 private:
  friend CastOnceScope;
  std::unique_ptr<CastOnceScope::Copies> copies_;
};

}  // namespace bora::core
