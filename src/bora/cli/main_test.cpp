// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/error.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/model_types.h"
#include "bora/store/test_server.h"

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

// What is wrong with an address is no matter of folders.
TEST(MainTest, AdvisesOnAddresses) {
  const store::TestServer server([](const std::string&) {
    return std::string("HTTP/1.1 418 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  const auto url = server.url("/x.txt");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command({"train-tokenizer", url, "--allow_private_addresses", "--out",
                         testing::TempDir() + "bora_main_test_tokenizer"}),
            exit_code(ErrorKind::Io));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::EndsWith("bora: " + url +
                        ": the server says 418\nhint: is the address right, may it be read, and does this "
                        "machine reach it? Or fetch the files and give their paths\n"));
}

TEST(MainTest, NamesTheFlagOfTheVersion) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command({"-v"}), exit_code(ErrorKind::Usage));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "bora: unknown command -v\nhint: bora -V, or bora --version, shows the version\n");
}

}  // namespace
}  // namespace bora::cli
