// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The model types that the commands have, for all tests of a program: included by one of them.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/models/builtin.h"
#include "bora/models/model_types.h"

namespace bora::models {

/// All of them: a parameterised test may ask before the first test runs.
inline std::vector<std::string> builtin_model_names() {
  if (model_types().names().empty()) add_builtin_models();
  return model_types().names();
}

class BuiltinModels : public testing::Environment {
 public:
  void SetUp() override { (void)builtin_model_names(); }
};
inline testing::Environment* const kBuiltinModels = testing::AddGlobalTestEnvironment(new BuiltinModels);

}  // namespace bora::models
