// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The optimizers that the commands have, for all tests of a program: included by one of them.
#pragma once
#include <gtest/gtest.h>

#include "bora/optim/builtin.h"

namespace bora::optim {

class BuiltinOptimizers : public testing::Environment {
 public:
  void SetUp() override { add_builtin_optimizers(); }
};
inline testing::Environment* const kBuiltinOptimizers =
    testing::AddGlobalTestEnvironment(new BuiltinOptimizers);

}  // namespace bora::optim
