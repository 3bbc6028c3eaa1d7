// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/cuda_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace bora::core {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CudaPlugin, AMissingPluginSaysHowToBuildIt) {
  const CudaPlugin plugin = load_cuda_plugin("libbora_cuda_absent.so");
  EXPECT_FALSE(plugin.loaded);
  EXPECT_EQ(plugin.has_kernels, nullptr);
  EXPECT_EQ(plugin.reason,
            "CUDA plug-in: not built: libbora_cuda_absent.so was not found\n"
            "hint: configure with -DBORA_CUDA=ON where nvcc is found");
}

TEST(CudaPlugin, AnotherLibraryIsRefused) {
  const CudaPlugin plugin = load_cuda_plugin("libm.so.6");
  EXPECT_FALSE(plugin.loaded);
  EXPECT_EQ(plugin.reason,
            "CUDA plug-in: libm.so.6 is not a Bora plug-in: it lacks bora_cuda_plugin_version");
}

TEST(CudaPlugin, AFileThatIsNoLibraryIsNamed) {
  const std::string path = ::testing::TempDir() + "/not_a_library.so";
  std::ofstream(path) << "text";
  const CudaPlugin plugin = load_cuda_plugin(path);
  EXPECT_FALSE(plugin.loaded);
  EXPECT_THAT(plugin.reason, StartsWith("CUDA plug-in: " + path + " cannot be loaded: "));
  EXPECT_THAT(plugin.reason, HasSubstr("file too short"));
}

TEST(CudaPlugin, ABuiltPluginLoads) {
  const CudaPlugin plugin = load_cuda_plugin();
  if (!plugin.loaded) GTEST_SKIP() << plugin.reason;
  EXPECT_EQ(plugin.version, kCudaPluginVersion);
  EXPECT_NE(plugin.has_kernels, nullptr);
}

}  // namespace
}  // namespace bora::core
