// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The laws of CONTRIBUTING.md, held against the whole checkout, and each against a file that breaks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "laws.h"

namespace bora::law {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct NamedLaw {
  const char* name;
  Law law;
};

const std::vector<SourceFile>& checkout_files() {
  static const std::vector<SourceFile> files = source_files(BORA_SOURCE_DIR);
  return files;
}

class CheckoutLaw : public testing::TestWithParam<NamedLaw> {};

TEST_P(CheckoutLaw, HoldsEverywhere) {
  const std::vector<SourceFile>& files = checkout_files();
  ASSERT_GT(files.size(), 50u) << "the checkout was not found at " << BORA_SOURCE_DIR;
  std::string text;
  for (const SourceFile& file : files) {
    for (const std::string& problem : GetParam().law(file)) text += "  " + problem + "\n";
  }
  EXPECT_TRUE(text.empty()) << "broken laws (CONTRIBUTING.md):\n" << text;
}

INSTANTIATE_TEST_SUITE_P(
    Laws, CheckoutLaw,
    testing::Values(NamedLaw{"layers", layers}, NamedLaw{"torch_includes", torch_includes},
                    NamedLaw{"size_cap", size_cap}, NamedLaw{"header_hygiene", header_hygiene},
                    NamedLaw{"licence_lines", licence_lines}, NamedLaw{"forbidden_words", forbidden_words},
                    NamedLaw{"environment", environment}, NamedLaw{"file_access", file_access},
                    NamedLaw{"host_pointers", host_pointers}),
    [](const auto& row) { return std::string(row.param.name); });

// BORA_TEST_SOURCES_FILE lists what CMake made test programs of, one path a line.
TEST(RegisteredTests, EveryTestOnDiskIsBuilt) {
  if (!BORA_BUILDS_EVERYTHING) GTEST_SKIP() << "this build has no libtorch: it leaves out most rooms";
  std::set<std::string> registered;
  std::ifstream stream(BORA_TEST_SOURCES_FILE);
  ASSERT_TRUE(stream) << BORA_TEST_SOURCES_FILE;
  for (std::string line; std::getline(stream, line);) registered.insert(line);
  std::string text;
  for (const SourceFile& file : checkout_files()) {
    if (!file.path.ends_with("_test.cpp")) continue;
    if (!registered.contains(std::string(BORA_SOURCE_DIR) + "/" + file.path))
      text += "  " + file.path + ":1\n";
  }
  EXPECT_TRUE(text.empty()) << "test files that no CMakeLists.txt builds:\n" << text;
}

// They come with every clone.
TEST(TinyModels, HaveAtMostAMillionBytes) {
  std::uintmax_t size = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(BORA_SOURCE_DIR "/tests/parity/models"))
    size += file.is_regular_file() ? file.file_size() : 0;
  EXPECT_GT(size, 100'000U);
  EXPECT_LE(size, 1'000'000U) << "make the models of tests/parity/make_models.py smaller";
}

// A reader finds rope where it says rope.
TEST(CoreSources, EachHasAHeaderOfItsName) {
  const std::set<std::string> exceptions = {
      // one header declares both passes, which are too long for one source
      "src/bora/core/kernels/cpu/attention_backward.cpp",
      "src/bora/core/kernels/cpu/attention_forward.cpp",
  };
  std::set<std::string> paths;
  for (const SourceFile& file : checkout_files()) paths.insert(file.path);
  std::string text;
  for (const std::string& path : paths) {
    const auto headers = headers_of(path);
    const auto there = [&](const std::string& header) { return paths.contains(header); };
    const bool named = headers.empty() || std::any_of(headers.begin(), headers.end(), there);
    if (named == exceptions.contains(path)) text += "  " + path + ":1\n";
  }
  EXPECT_TRUE(text.empty())
      << "sources of core without a header of their name, or exceptions that have one:\n"
      << text;
}

TEST(CoreSources, TheHeaderIsBesideOrPublic) {
  EXPECT_THAT(headers_of("src/bora/core/ops/rope.cpp"),
              ElementsAre("src/bora/core/ops/rope.h", "src/bora/core/rope.h", "src/bora/core/torch/rope.h"));
  EXPECT_THAT(headers_of("src/bora/core/ops/rope_test.cpp"), IsEmpty());
  EXPECT_THAT(headers_of("src/bora/nn/rope.cpp"), IsEmpty());
}

// What `cmake --install` copies, one "bora/core/array.h" a line.
std::vector<std::string> installed_headers() {
  std::vector<std::string> headers;
  std::ifstream stream(BORA_SOURCE_DIR "/cmake/installed_headers.txt");
  EXPECT_TRUE(stream);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#")) headers.push_back(line);
  }
  return headers;
}

TEST(InstalledHeaders, AreThoseOfTheList) {
  const auto listed = installed_headers();
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  std::set<std::string> missing(listed.begin(), listed.end());
  EXPECT_EQ(missing.size(), listed.size()) << "a header stands there twice";
  std::string text;
  for (const SourceFile& file : checkout_files()) {
    if (!file.path.starts_with("src/bora/") || !file.path.ends_with(".h")) continue;
    const std::string header = file.path.substr(4);
    const auto right = installation(header);
    const bool stands = missing.erase(header) == 1;
    if (stands ? right == Installed::Never : right == Installed::Always) text += "  " + header + "\n";
  }
  EXPECT_TRUE(text.empty())
      << "users' headers that cmake/installed_headers.txt lacks, or private ones there:\n"
      << text;
  EXPECT_THAT(missing, IsEmpty()) << "lines of cmake/installed_headers.txt that are no headers";
}

TEST(InstalledHeaders, IncludeOnlyWhatIsInstalled) {
  const auto listed = installed_headers();
  const std::set<std::string> installed(listed.begin(), listed.end());
  static const std::regex include(R"rx(^\s*#\s*include\s*"(bora/[^"]+)")rx");
  std::string text;
  for (const SourceFile& file : checkout_files()) {
    if (!file.path.starts_with("src/") || !installed.contains(file.path.substr(4))) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include) || installed.contains(match[1].str())) continue;
      text += "  " + file.path + ":" + std::to_string(i + 1) + ": " + match[1].str() + "\n";
    }
  }
  EXPECT_TRUE(text.empty()) << "installed headers that need one which is not:\n" << text;
}

TEST(InstalledHeaders, WhichTheListMayHold) {
  EXPECT_EQ(installation("bora/core/array.h"), Installed::Always);
  EXPECT_EQ(installation("bora/nn/latest.h"), Installed::Always);
  EXPECT_EQ(installation("bora/store/latest.h"), Installed::Perhaps);
  EXPECT_EQ(installation("bora/tokenize/models/bpe.h"), Installed::Perhaps);
  EXPECT_EQ(installation("bora/core/kernels/cpu/matmul.h"), Installed::Never);
  EXPECT_EQ(installation("bora/core/torch/node.h"), Installed::Never);
  EXPECT_EQ(installation("bora/mesh/test_ops.h"), Installed::Never);
  EXPECT_EQ(installation("bora/tokenize/post/oracle_test_util.h"), Installed::Never);
  EXPECT_EQ(installation("bora/base/x-inl.h"), Installed::Never);
}

TEST(HostPointersLaw, ElementsAreCoresBusiness) {
  const auto problems = [](const std::string& path) {
    return host_pointers({path,
                          {"float* x = array.data<float>();", "auto* y = p->data<std::byte>();",
                           "auto* z = core::local_data<float>(array);"}});
  };
  EXPECT_THAT(problems("src/bora/optim/x.cpp"),
              ElementsAre("src/bora/optim/x.cpp:1: `.data<float>()`: an array may lie on another device; use "
                          "core/host_view.h, core/step_ops.h, or to_vector()",
                          HasSubstr("src/bora/optim/x.cpp:2: `->data<std::byte>()`"),
                          HasSubstr("src/bora/optim/x.cpp:3: `local_data<`")));
  EXPECT_THAT(problems("src/bora/core/ops/x.cpp"), IsEmpty());
  EXPECT_THAT(problems("src/bora/optim/x_test.cpp"), IsEmpty());
  EXPECT_THAT(problems("src/bora/mesh/tree_reduce.cpp"), SizeIs(3)) << "there are no exceptions";
}

TEST(LayersLaw, ARoomMayNotLookUp) {
  EXPECT_THAT(layers({"src/bora/store/x.h", {"// ...", "#include \"bora/core/array.h\""}}),
              ElementsAre("src/bora/store/x.h:2: room `store` includes bora/core/array.h, but may use base"));
  EXPECT_THAT(
      layers({"src/bora/base/x.h", {"#include <bora/core/array.h>"}}),
      ElementsAre("src/bora/base/x.h:1: room `base` includes bora/core/array.h, but may use no other room"));
  EXPECT_THAT(layers({"src/bora/train/x.h", {"#include \"bora/models/llama.h\""}}),
              ElementsAre(HasSubstr("room `train` includes bora/models/llama.h")));
}

TEST(LayersLaw, ARoomMayUseWhatItsNeighboursMayUse) {
  EXPECT_THAT(
      layers({"src/bora/models/x.h", {"#include \"bora/nn/linear.h\"", "#include \"bora/base/text.h\""}}),
      IsEmpty());
  EXPECT_THAT(
      layers({"src/bora/train/x.cpp", {"#include \"bora/mesh/mesh.h\"", "#include \"bora/track/track.h\""}}),
      IsEmpty());
}

TEST(LayersLaw, IncludesAreWrittenFromTheRoot) {
  EXPECT_THAT(
      layers({"src/bora/store/x.cpp", {"#include \"x.h\""}}),
      ElementsAre("src/bora/store/x.cpp:1: \"x.h\" should be written from the root: \"bora/store/...\""));
}

TEST(LayersLaw, ANewFolderNeedsARowInTheTable) {
  EXPECT_THAT(layers({"src/bora/extra/x.h", {}}),
              ElementsAre("src/bora/extra/x.h:1: folder `extra` is not in the table of layers"));
}

TEST(TorchLaw, TorchStaysInCore) {
  const std::vector<std::string> lines = {"#include <ATen/core/Tensor.h>"};
  EXPECT_THAT(torch_includes({"src/bora/nn/linear.h", lines}),
              ElementsAre(HasSubstr("src/bora/nn/linear.h:1: ")));
  EXPECT_THAT(torch_includes({"src/bora/core/array.h", lines}),
              ElementsAre(HasSubstr("src/bora/core/array.h:1: ")));
  EXPECT_THAT(torch_includes({"apps/bora/main.cpp", {"#include \"bora/core/torch/node.h\""}}),
              ElementsAre(HasSubstr("apps/bora/main.cpp:1: ")));
  EXPECT_THAT(torch_includes({"src/bora/mesh/x.cpp", {"#include \"bora/core/layout/layout.h\""}}),
              ElementsAre(HasSubstr("src/bora/mesh/x.cpp:1: ")));
  EXPECT_THAT(torch_includes({"src/bora/core/kernels/cpu/matmul.cpp", lines}),
              ElementsAre(HasSubstr("src/bora/core/kernels/cpu/matmul.cpp:1: ")));
  EXPECT_THAT(torch_includes({"src/bora/core/array.cpp", lines}), IsEmpty());
  EXPECT_THAT(torch_includes({"src/bora/core/layout/layout.h", lines}), IsEmpty());
  EXPECT_THAT(torch_includes({"src/bora/core/torch/node.h", lines}), IsEmpty());
  EXPECT_THAT(torch_includes({"plugins/cuda/ops.cpp", lines}), IsEmpty());
}

TEST(SizeLaw, SixHundredLines) {
  EXPECT_THAT(size_cap({"src/bora/nn/x.h", std::vector<std::string>(600)}), IsEmpty());
  EXPECT_THAT(
      size_cap({"src/bora/nn/x.h", std::vector<std::string>(601)}),
      ElementsAre("src/bora/nn/x.h:601: the file has 601 lines, the cap is 600; split it by concept"));
  EXPECT_THAT(size_cap({"src/bora/nn/x_test.cpp", std::vector<std::string>(700)}), IsEmpty());
}

TEST(HeaderLaw, NoMacrosAndOnePragma) {
  EXPECT_THAT(header_hygiene({"src/bora/nn/x.h", {"#pragma once", " # define BORA_X 1"}}),
              ElementsAre(HasSubstr("src/bora/nn/x.h:2: ` # define`: no macros in headers")));
  EXPECT_THAT(header_hygiene({"src/bora/nn/x.h", {}}), ElementsAre(HasSubstr("`#pragma once` is missing")));
  EXPECT_THAT(header_hygiene({"src/bora/core/kernels/cpu/x-inl.h", {"#define HWY_X"}}), IsEmpty());
}

TEST(LicenceLaw, TwoLinesAtTheTop) {
  EXPECT_THAT(licence_lines({"src/bora/nn/x.h", {"#pragma once"}}),
              ElementsAre("src/bora/nn/x.h:1: this line should be `// SPDX-License-Identifier: Apache-2.0`"));
  EXPECT_THAT(licence_lines({"bora", {"#!/bin/sh", "# SPDX-License-Identifier: Apache-2.0"}}),
              ElementsAre("bora:3: this line should be `# SPDX-FileCopyrightText: The Bora authors`"));
}

TEST(WordsLaw, UnfinishedWorkAndMachinePathsAreFound) {
  EXPECT_THAT(forbidden_words({"a.h",
                               {"// TO"
                                "DO: later"}}),
              ElementsAre(HasSubstr("a.h:1: ")));
  EXPECT_THAT(forbidden_words({"a.md",
                               {"see /ho"
                                "me/someone/x"}}),
              ElementsAre(HasSubstr("a path of one machine")));
  EXPECT_THAT(forbidden_words({"a.md",
                               {"runs/ho"
                                "me/x and ~/wo"
                                "rk/y"}}),
              IsEmpty());
}

TEST(EnvironmentLaw, OnlyEnvReadsVariables) {
  const std::vector<std::string> lines = {"auto x = std::getenv(\"X\");"};
  EXPECT_THAT(environment({"src/bora/nn/x.cpp", lines}),
              ElementsAre(HasSubstr("src/bora/nn/x.cpp:1: `getenv(`")));
  EXPECT_THAT(environment({"src/bora/base/env.cpp", lines}), IsEmpty());
  EXPECT_THAT(environment({"src/bora/nn/x_test.cpp", lines}), IsEmpty());
}

TEST(FileLaw, FilesGoThroughTheInterface) {
  EXPECT_THAT(file_access({"src/bora/store/x.cpp", {"std::ifstream in(path);"}}),
              ElementsAre(HasSubstr("src/bora/store/x.cpp:1: `std::ifstream`")));
  EXPECT_THAT(file_access({"apps/bora/x.cpp", {"if (std::filesystem::exists(p))"}}),
              ElementsAre(HasSubstr("apps/bora/x.cpp:1: ")));
  EXPECT_THAT(file_access({"src/bora/store/x.cpp", {"std::filesystem::path(a) / b"}}), IsEmpty());
  EXPECT_THAT(file_access({"src/bora/base/posix_files.cpp", {"::open(path, O_RDONLY)"}}), IsEmpty());
}

}  // namespace
}  // namespace bora::law
