// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The model types that the commands have, for all tests of this program.
#include <gtest/gtest.h>

#include "bora/models/builtin.h"

namespace bora::run {
namespace {

class BuiltinModels : public testing::Environment {
 public:
  void SetUp() override { models::add_builtin_models(); }
};
[[maybe_unused]] const auto* const kBuiltinModels = testing::AddGlobalTestEnvironment(new BuiltinModels);

}  // namespace
}  // namespace bora::run
