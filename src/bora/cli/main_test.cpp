// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/main.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/error.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/model_types.h"

namespace bora::cli {
namespace {

// A program of a user's; in a process of its own, for what is added stays.
[[noreturn]] void program(void (*add)()) {
  char name[] = "program", command[] = "version";
  char* arguments[] = {name, command, nullptr};
  std::_Exit(main(2, arguments, add));
}

TEST(MainDeathTest, TellsOfATypeThatIsAddedTwice) {
  const auto is_told = testing::ExitedWithCode(exit_code(ErrorKind::InvalidArgument));
  EXPECT_EXIT(program([] {
                models::add_type<gpt2::Config>("mine");
                models::add_type<gpt2::Config>("mine");
              }),
              is_told, "^bora: model type mine is registered twice\nhint: give one of them another name\n$");
}

// These tests have Bora's types already, like a program that took their names before main.
TEST(MainDeathTest, TellsOfATypeWithANameOfBoras) {
  EXPECT_EXIT(program([] {}), testing::ExitedWithCode(exit_code(ErrorKind::InvalidArgument)),
              "^bora: model type .* is registered twice");
}

}  // namespace
}  // namespace bora::cli
