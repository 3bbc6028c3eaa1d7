// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A room's tests with all that they make on a device, constants of their files included: this file is linked
// before them, and after the device of the tests. TEST_DEVICE names another one ("cuda"). Left out, unless a
// filter is given, is what BORA_HOST_ALONE says.
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "bora/base/env.h"
#include "bora/core/cuda_engine.h"
#include "bora/core/device.h"
#include "bora/core/runtime.h"

namespace {

bora::core::DeviceScope opened() try {
  const auto word = bora::env::for_tests("TEST_DEVICE").value_or("test");
  if (word != "test") {
    bora::core::initialize();
    at::GradMode::set_enabled(true);  // tests of core record without its scopes, as on other devices
    bora::core::open_cuda_engine();
  }
  return bora::core::DeviceScope(bora::core::parse_device(word));
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  std::_Exit(1);
}

const bora::core::DeviceScope kScope = opened();

}  // namespace

int main(int argc, char** argv) {
  GTEST_FLAG_SET(filter, "-" BORA_HOST_ALONE);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
