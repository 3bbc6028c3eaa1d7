// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/plugin.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bora/base/error.h"

namespace bora {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAbsent = "libbora_plugin_that_is_not_there.so";

PluginNeed need(const std::string& setup) {
  return {.name = "Toy plug-in",
          .version_symbol = "toy_version",
          .version = 1,
          .absent = "Toy plug-in: not built",
          .build = "build it",
          .repair = "repair it",
          .setup = setup};
}

std::string error_of(const std::string& library, const PluginNeed& wanted) {
  try {
    const Plugin plugin(library, wanted);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    return e.what();
  }
  return "no error";
}

// Any library will do to see that it was opened.
std::string a_loaded_library() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libstdc++.so") != line.npos) return line.substr(line.find('/'));
  }
  return "";
}

// A checkout whose scripts/plugin.sh notes its argument and then runs `script`.
class PluginSetup : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(checkout_);
    fs::create_directories(checkout_ / "scripts");
    setenv("BORA_CHECKOUT", checkout_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("BORA_CHECKOUT");
    fs::remove_all(checkout_);
  }
  void script(const std::string& body) const {
    const auto file = checkout_ / "scripts/plugin.sh";
    std::ofstream(file) << "#!/bin/sh\nprintf '%s' \"$1\" >>'" << asked().string() << "'\n" << body << '\n';
    fs::permissions(file, fs::perms::owner_all);
  }
  fs::path asked() const { return checkout_ / "asked"; }
  std::string asked_for() const {
    std::ifstream file(asked());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path checkout_ = fs::path(::testing::TempDir()) / "plugin_checkout";
};

TEST_F(PluginSetup, AnAbsentPluginIsSetUpByTheCheckout) {
  const auto library = checkout_ / "libtoy.so";
  script("ln -s '" + a_loaded_library() + "' '" + library.string() + "'");
  EXPECT_EQ(error_of(library, need("toy")),
            "Toy plug-in: " + library.string() + " is not a Bora plug-in: it lacks toy_version");
  EXPECT_EQ(asked_for(), "toy");
}

TEST_F(PluginSetup, ASetupThatFailsLeavesTheErrorAsItWas) {
  script("exit 1");
  EXPECT_EQ(error_of(kAbsent, need("toy")),
            std::string("Toy plug-in: not built: ") + kAbsent + " was not found\nhint: build it");
  EXPECT_EQ(asked_for(), "toy");
}

TEST_F(PluginSetup, ACheckoutWithoutTheScriptIsNoCheckout) {
  EXPECT_EQ(error_of(kAbsent, need("toy")),
            std::string("Toy plug-in: not built: ") + kAbsent + " was not found\nhint: build it");
}

TEST_F(PluginSetup, APluginThatIsBuiltWithTheProgramAsksForNothing) {
  script("exit 0");
  error_of(kAbsent, need(""));
  EXPECT_EQ(asked_for(), "");
}

TEST_F(PluginSetup, ALibraryThatIsThereAsksForNothing) {
  script("exit 0");
  EXPECT_EQ(error_of("libm.so.6", need("toy")),
            "Toy plug-in: libm.so.6 is not a Bora plug-in: it lacks toy_version");
  EXPECT_EQ(asked_for(), "");
}

}  // namespace
}  // namespace bora
