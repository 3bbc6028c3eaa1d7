// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_record.h"

#include <gtest/gtest.h>

#include <string>

#include "bora/base/file.h"

namespace bora::run {
namespace {

class RunRecordTest : public testing::Test {
 protected:
  std::string arithmetic(const std::string& record) {
    files().make_directories(directory_);
    write_atomically(path_join(directory_, "run.json"), record);
    return recorded_arithmetic(directory_);
  }

  std::string directory_ = testing::TempDir() + "bora_run_record";
};

TEST_F(RunRecordTest, TellsTheArithmetic) {
  EXPECT_EQ(arithmetic(R"json({"arithmetic": "AVX3 (amx products, libtorch AVX512, x)"})json"),
            "AVX3 (amx products, libtorch AVX512, x)");
  EXPECT_EQ(arithmetic(R"json({"arithmetic": 3})json"), "");
  EXPECT_EQ(arithmetic(R"json({"arith)json"), "");
}

// Bora's products had another name once; a run of then goes on with the same ones.
TEST_F(RunRecordTest, KnowsTheOlderNameOfItsProducts) {
  EXPECT_EQ(arithmetic(R"json({"arithmetic": "AVX3 (own products, libtorch AVX512, x)"})json"),
            "AVX3 (bora products, libtorch AVX512, x)");
}

}  // namespace
}  // namespace bora::run
