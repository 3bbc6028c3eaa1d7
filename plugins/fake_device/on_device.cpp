// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A room's tests with all that they make on the device of the tests, constants of their files included: this
// file is linked before them, and after the device.
#include <gtest/gtest.h>

#include "bora/core/device.h"

namespace {
const bora::core::DeviceScope kScope({bora::core::Device::Type::test, 0});
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
