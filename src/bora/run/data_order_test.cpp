// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::run {
namespace {

class DataOrderTest : public testing::Test {
 protected:
  ~DataOrderTest() override { remove_all(run_); }
  void checkpoint(const std::string& step, const std::string& state) const {
    const auto directory = path_join(run_, step);
    files().make_directories(directory);
    write_atomically(path_join(directory, "state.json"), state);
    write_atomically(path_join(directory, "manifest.json"), "{}");
  }

  std::string run_ = testing::TempDir() + "bora_data_order";
};

TEST_F(DataOrderTest, ACheckpointWithoutOneIsOfTheFirst) {
  EXPECT_EQ(data_order_of(Json::object()), data::DataOrder::WithinBlocks);
  EXPECT_EQ(data_order_of({{"data_order", 1}}), data::DataOrder::WithinBlocks);
  EXPECT_EQ(data_order_of({{"data_order", 2}}), data::DataOrder::ByPasses);
  try {
    data_order_of({{"data_order", 7}});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(ErrorKind::Unsupported));
    EXPECT_STREQ(e.what(),
                 "mixture: the data is in order 7 but this Bora knows 1 to 2\nhint: go on with the Bora that "
                 "began the run");
  }
}

TEST_F(DataOrderTest, TheNewestCheckpointTells) {
  EXPECT_EQ(data_order_of_run(run_), data::kDataOrder);
  checkpoint("step-9", R"({"step": 9})");
  EXPECT_EQ(data_order_of_run(run_), data::DataOrder::WithinBlocks);
  checkpoint("step-10", R"({"step": 10, "data_order": 2})");
  EXPECT_EQ(data_order_of_run(run_), data::DataOrder::ByPasses);
}

}  // namespace
}  // namespace bora::run
