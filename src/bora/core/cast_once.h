// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <memory>
#include <span>

#include "bora/core/parameter.h"

namespace bora::core {

/// While it lives, this thread converts each of `parameters` to a type of fewer bytes once: cast() gives the
/// same copy to each lane of a step, and to blocks that are computed again. Gradients flow as of any cast.
/// The values must not change meanwhile.
class CastOnceScope {
 public:
  explicit CastOnceScope(std::span<const Parameter> parameters);
  ~CastOnceScope();
  CastOnceScope(const CastOnceScope&) = delete;
  CastOnceScope& operator=(const CastOnceScope&) = delete;

  struct Copies;

 private:
  std::unique_ptr<Copies> copies_;
  Copies* before_;
};

}  // namespace bora::core
