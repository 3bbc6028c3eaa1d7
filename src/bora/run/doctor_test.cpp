// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bora/base/file.h"

namespace bora::run {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = Finding::Kind;

core::CudaFacts with(std::vector<core::GpuFacts> gpus) {
  return {.has_driver = true, .driver = "580.65.06", .cuda = {13, 0}, .failure = {}, .gpus = std::move(gpus)};
}
const core::GpuFacts kHopper{"H100", {9, 0}, 85'000'000'000, 84'000'000'000};

TEST(Doctor, LooksAtThisMachine) {
  const auto found = diagnose();
  for (const char* name : {"program", "libtorch", "cpu", "bf16", "memory", "cache", "plug-in mpi",
                           "plug-in arrow", "plug-in cuda", "plug-in nccl", "plug-in cudnn"}) {
    const auto it = std::find_if(found.findings.begin(), found.findings.end(),
                                 [&](const Finding& f) { return f.name == name; });
    ASSERT_NE(it, found.findings.end()) << name;
    EXPECT_NE(it->kind, Kind::wrong) << name << ": " << it->text;
    EXPECT_FALSE(it->text.empty()) << name;
  }
  const auto json = diagnosis_json(found);
  EXPECT_EQ(json.at("findings").size(), found.findings.size());
  EXPECT_EQ(json.at("cuda").at("state"), core::name(found.cuda.state()));
}

TEST(Doctor, TellsOfGpus) {
  const auto none = gpu_findings({}, 0);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].kind, Kind::note) << "an ordinary machine";
  EXPECT_EQ(none[0].text + none[0].hint, "no NVIDIA driver");
  auto failing = with({});
  failing.failure = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  const auto broken = gpu_findings(failing, 0);
  EXPECT_EQ(broken[0].kind, Kind::wrong);
  EXPECT_THAT(broken[0].hint, StartsWith("see whether nvidia-smi works"));
  const auto two = gpu_findings(with({kHopper, kHopper}), 1);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].kind, Kind::fine);
  EXPECT_EQ(two[0].name, "cuda:0");
  EXPECT_EQ(two[0].text, "H100 · capability 9.0 · 85.0 GB, 84.0 GB free · driver 580.65.06 (CUDA 13.0)");
  EXPECT_EQ(two[1].kind, Kind::note);
  EXPECT_THAT(two[1].text, HasSubstr(" · not opened"));
  const auto mixed = gpu_findings(with({{"V100", {7, 0}, 16'900'000'000, {}}, kHopper}), 2);
  ASSERT_EQ(mixed.size(), 2U);
  EXPECT_EQ(mixed[0].kind, Kind::note);
  EXPECT_EQ(
      mixed[0].text,
      "V100 · capability 7.0 · 16.9 GB · driver 580.65.06 (CUDA 13.0) · capability 8.0 is needed; auto and cuda "
      "take a newer one");
  EXPECT_EQ(mixed[1].kind, Kind::fine);
}

TEST(Doctor, TellsAPluginThatIsNotThereFromABrokenOne) {
  EXPECT_EQ(plugin_finding("mpi", "").kind, Kind::fine);
  const auto absent = plugin_finding("mpi", "not built: libbora_mpi.so was not found\nhint: build it");
  EXPECT_EQ(absent.kind, Kind::note);
  EXPECT_EQ(absent.text, "not built: libbora_mpi.so was not found");
  EXPECT_EQ(absent.hint, "build it");
  EXPECT_EQ(plugin_finding("mpi", "mpi plug-in: libbora_mpi.so cannot be loaded: libmpi.so").kind,
            Kind::wrong);
}

TEST(Doctor, TellsOfAFolderThatCannotBeWritten) {
  const auto file = ::testing::TempDir() + "/doctor_file";
  write_atomically(file, "text");
  const auto found = folder_finding("cache", file + "/cache");
  EXPECT_EQ(found.kind, Kind::wrong);
  EXPECT_THAT(found.text, HasSubstr("is a file, no folder"));
  EXPECT_EQ(folder_finding("cache", ::testing::TempDir()).name, "cache");
}

TEST(Doctor, SaysHowMuchIsWrong) {
  Diagnosis diagnosis{{{Kind::fine, "cpu", "one", ""}, {Kind::note, "gpu", "none", ""}}, with({kHopper})};
  EXPECT_TRUE(diagnosis.well());
  EXPECT_EQ(diagnosis_text(diagnosis),
            "ok     cpu            one\nnote   gpu            none\nnothing is wrong\n");
  diagnosis.findings.push_back({Kind::wrong, "cache", "full", "make room"});
  EXPECT_FALSE(diagnosis.well());
  EXPECT_THAT(
      diagnosis_text(diagnosis),
      HasSubstr("wrong  cache          full\n                      hint: make room\n1 thing is wrong\n"));
  const auto json = diagnosis_json(diagnosis);
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_EQ(json.at("findings")[2],
            (Json{{"kind", "wrong"}, {"name", "cache"}, {"text", "full"}, {"hint", "make room"}}));
  EXPECT_EQ(json.at("cuda"), (Json{{"state", "ready"},
                                   {"driver", "580.65.06"},
                                   {"cuda", "13.0"},
                                   {"gpus",
                                    {{{"name", "H100"},
                                      {"capability", "9.0"},
                                      {"memory", 85'000'000'000},
                                      {"free", 84'000'000'000}}}}}));
}

}  // namespace
}  // namespace bora::run
