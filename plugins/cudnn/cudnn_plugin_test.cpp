// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The loader with a stand-in for the plug-in. The plug-in itself: cudnn_plans_test.
#include "bora/core/cudnn_plugin.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace bora::core {
namespace {

using ::testing::StartsWith;

TEST(CudnnPlugin, AMissingPluginSaysThatItIsNotBuilt) {
  const auto library = load_cudnn_plugin("libbora_cudnn_absent.so");
  EXPECT_EQ(library.name, "cuDNN plug-in");
  EXPECT_EQ(library.why_not, "not built: libbora_cudnn_absent.so was not found");
  EXPECT_EQ(library.forward, nullptr);
}

TEST(CudnnPlugin, AnotherLibraryIsRefused) {
  EXPECT_EQ(load_cudnn_plugin("libm.so.6").why_not,
            "libm.so.6 is not a Bora plug-in: it lacks bora_cudnn_plugin_version");
}

TEST(CudnnPlugin, AnotherVersionIsRefused) {
  EXPECT_EQ(
      load_cudnn_plugin(BORA_CUDNN_OLD_VERSION).why_not,
      fmt::format("{} has version 0, this program needs {}", BORA_CUDNN_OLD_VERSION, kCudnnPluginVersion));
}

TEST(CudnnPlugin, AFileThatIsNoLibraryIsNamed) {
  const std::string path = ::testing::TempDir() + "/not_a_library_of_cudnn.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(load_cudnn_plugin(path).why_not, StartsWith(path + " cannot be loaded: "));
}

}  // namespace
}  // namespace bora::core
