// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A program without a GPU; plugins/fake_device has the other side.
#include "bora/run/run_device.h"

#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora::run {
namespace {

std::string error_of(std::string_view word) {
  try {
    const RunDevice device("trainer.device", word, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(RunDevice, IsTheCpuWhereThereIsNoOther) {
  for (const char* word : {"auto", "cpu"}) {
    EXPECT_EQ(choose_device(word, {}), core::Device());
    const RunDevice device("trainer.device", word, {});
    EXPECT_EQ(device_text() + device_memory_text(), "");
  }
  EXPECT_EQ(choose_device("cuda:3", {}), (core::Device{core::Device::Type::cuda, 3}));
  EXPECT_EQ(choose_device("cuda", {}), (core::Device{core::Device::Type::cuda, 0}));
}

TEST(RunDevice, SaysThatThereIsNone) {
  const std::string rest =
      " is asked for, but this program has none of its kind\nhint: Bora computes on the CPU alone so far";
  EXPECT_EQ(error_of("cuda"), "trainer.device: device: cuda:0" + rest);
  EXPECT_EQ(error_of("cuda:1"), "trainer.device: device: cuda:1" + rest);
  EXPECT_EQ(error_of("test"),
            "trainer.device: device: test is asked for, but this program has none of its kind\n"
            "hint: the tests load the plug-in fake_device");
}

}  // namespace
}  // namespace bora::run
