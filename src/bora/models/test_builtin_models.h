// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The model types that the commands have, for all tests of a program: included by one of them.
#pragma once
#include <gtest/gtest.h>

#include "bora/models/builtin.h"

namespace bora::models {

class BuiltinModels : public testing::Environment {
 public:
  void SetUp() override { add_builtin_models(); }
};
inline testing::Environment* const kBuiltinModels = testing::AddGlobalTestEnvironment(new BuiltinModels);

}  // namespace bora::models
