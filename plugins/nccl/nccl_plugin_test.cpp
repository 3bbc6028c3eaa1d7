// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The loader with stand-ins for the plug-in, and the plug-in itself where it is built and there is no device
// to find; nccl_check runs it where there is one.
#include "bora/mesh/nccl_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "bora/base/error.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Outcome = NcclCheck::Outcome;

constexpr const char* kScripted = BORA_NCCL_SCRIPTED;
constexpr const char* kBuilt = BORA_NCCL_BUILT;  // "" where it is not

std::string reason(const std::string& library) {
  const auto check = check_nccl(library);
  EXPECT_EQ(check.outcome, Outcome::no_plugin);
  return check.words;
}

TEST(NcclPlugin, AMissingPluginSaysHowToBuildIt) {
  EXPECT_EQ(reason("libbora_nccl_absent.so"),
            "NCCL plug-in: not built: libbora_nccl_absent.so was not found\n"
            "hint: configure with -DBORA_CUDA=ON where nvcc, nccl.h and libnccl are found");
}

TEST(NcclPlugin, AnotherLibraryIsRefused) {
  EXPECT_EQ(reason("libm.so.6"),
            "NCCL plug-in: libm.so.6 is not a Bora plug-in: it lacks bora_nccl_plugin_version");
}

TEST(NcclPlugin, AnotherVersionIsRefused) {
  EXPECT_EQ(reason(BORA_NCCL_OLD_VERSION),
            fmt::format("NCCL plug-in: {} has version 0, this program needs {}\n"
                        "hint: build both from one source tree",
                        BORA_NCCL_OLD_VERSION, kNcclPluginVersion));
}

TEST(NcclPlugin, AFileThatIsNoLibraryIsNamed) {
  const std::string path = ::testing::TempDir() + "/not_a_library_of_nccl.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(reason(path), StartsWith("NCCL plug-in: " + path + " cannot be loaded: "));
  EXPECT_THAT(reason(path), HasSubstr("file too short"));
}

NcclCheck scripted(const char* outcome, const char* words) {
  setenv("STAND_IN_OUTCOME", outcome, 1);
  setenv("STAND_IN_WORDS", words, 1);
  return check_nccl(kScripted);
}

TEST(NcclPlugin, OutcomesOfTheCheck) {
  const auto none = scripted("77", "no device, nothing was run");
  EXPECT_EQ(none.outcome, Outcome::no_device);
  EXPECT_EQ(none.words, "no device, nothing was run");
  EXPECT_EQ(scripted("0", "one worker right").outcome, Outcome::right);
  EXPECT_EQ(scripted("1", "tree sum: element 3").outcome, Outcome::wrong);
  EXPECT_EQ(scripted("2", "").outcome, Outcome::wrong);
}

TEST(NcclPlugin, WorkerZerosIdReachesAll) {
  std::vector<std::string> errors = testing::run_workers({.count = 2}, [](Communicator& world) {
    try {
      open_nccl_transport(world, {.device = world.rank(), .deadline_seconds = 3, .library = kScripted});
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()), fmt::format("NCCL plug-in: worker {0} of 2, device {0}, id of 7, 3 s\n"
                                                   "hint: a device of its own for each worker of a host",
                                                   world.rank()));
      return;
    }
    FAIL() << "no error";
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(NcclPlugin, NoId) {
  setenv("STAND_IN_ID", "1", 1);
  const auto world = make_self_communicator();
  EXPECT_THAT(
      [&] {
        try {
          open_nccl_transport(*world, {.library = kScripted});
        } catch (const Error& e) {
          return std::string(e.what());
        }
        return std::string();
      }(),
      "NCCL plug-in: no id today");
}

// What a run asks, of GPUs that are not there.
std::string said(const std::string& library, const char* gpu) {
  if (gpu != nullptr) setenv("STAND_IN_GPU", gpu, 1);
  register_device_transports(core::Device::Type::cuda, nccl_transports(library));
  std::string words;
  const auto errors = testing::run_workers({.count = 2, .deadline = 3}, [&](Communicator& world) {
    const auto own =
        connect_devices(world, {core::Device::Type::cuda, static_cast<std::int8_t>(world.rank())});
    if (world.rank() == 1) words = own;
  });
  unsetenv("STAND_IN_GPU");
  for (const auto& error : errors) words += error;
  return words;
}

TEST(NcclPlugin, ARunGoesThroughTheHostWithoutItOrWithOneGpuForTwo) {
  EXPECT_EQ(said("libbora_nccl_absent.so", nullptr),
            "messages go through the memory of the host: worker 0: NCCL plug-in: not built: "
            "libbora_nccl_absent.so was not found\n"
            "hint: configure with -DBORA_CUDA=ON where nvcc, nccl.h and libnccl are found");
  EXPECT_EQ(
      said(kScripted, "0000:17:00.0"),
      "messages go through the memory of the host: workers 0 and 1 share GPU 0000:17:00.0 of host here");
}

TEST(NcclPlugin, ARunEndsWhereItDoesNotOpen) {
  unsetenv("STAND_IN_ID");
  EXPECT_THAT(
      said(kScripted, nullptr),
      AllOf(HasSubstr("worker 0 (host here) in start: open devices: NCCL plug-in: worker 0 of 2, device 0, "
                      "id of 7, 3 s\nhint: a device of its own for each worker of a host"),
            HasSubstr("worker 1 of 2, device 1, id of 7, 3 s")));
  setenv("STAND_IN_NO_GPU", "1", 1);
  EXPECT_THAT(said(kScripted, "the GPU has fallen off the bus"),
              HasSubstr("NCCL plug-in: the GPU has fallen off the bus\nhint: bora doctor says what is here"));
  unsetenv("STAND_IN_NO_GPU");
}

TEST(NcclPlugin, TheBuiltOneSaysWhatItRan) {
  if (*kBuilt == '\0') GTEST_SKIP() << "the NCCL plug-in is not built";
  const auto check = check_nccl(kBuilt);
  EXPECT_THAT(check.words, StartsWith("NCCL 2."));
  if (check.outcome == Outcome::no_device)
    EXPECT_THAT(check.words, HasSubstr(": no device, nothing was run ("));
  else
    EXPECT_EQ(check.outcome, Outcome::right) << check.words;
}

TEST(NcclPlugin, WithoutADeviceTheTransportNamesCallAndWorker) {
  if (*kBuilt == '\0') GTEST_SKIP() << "the NCCL plug-in is not built";
  if (check_nccl(kBuilt).outcome != Outcome::no_device) GTEST_SKIP() << "there is a device";
  const auto world = make_self_communicator();
  try {
    open_nccl_transport(*world, {.library = kBuilt});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_THAT(e.what(), StartsWith("NCCL plug-in: nccl: worker 0 of 1 (device 0): cudaSetDevice: "));
    EXPECT_THAT(e.what(), EndsWith("\nhint: a device of its own for each worker of a host"));
  }
}

TEST(NcclPlugin, ADeviceOfItsOwn) {
  if (*kBuilt == '\0') GTEST_SKIP() << "the NCCL plug-in is not built";
  if (check_nccl(kBuilt).outcome == Outcome::no_device) GTEST_SKIP() << "no device";
  const auto world = make_self_communicator();
  const auto transport = open_nccl_transport(*world, {.library = kBuilt});
  EXPECT_EQ(transport->name(), "nccl");
  EXPECT_EQ(transport->size(), 1);
  EXPECT_TRUE(transport->finished());
  try {
    transport->share(4096);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "nccl: worker 0 of 1 (device 0): share: 4096 bytes: workers of a host do not see each "
                 "other's device memory\n"
                 "hint: messages, or blocks of the workers' own transport (mpi)");
  }
}

}  // namespace
}  // namespace bora::mesh
