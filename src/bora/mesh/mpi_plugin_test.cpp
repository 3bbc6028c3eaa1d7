// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What needs no launcher; tests/workers runs the rest.
#include "bora/mesh/mpi_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    return e.what();
  }
  return "no error";
}

TEST(MpiPlugin, AMissingPluginSaysHowToBuildIt) {
  EXPECT_EQ(error_of([] { open_mpi_transport("libbora_mpi_absent.so"); }),
            "MPI plug-in: not built: libbora_mpi_absent.so was not found\n"
            "hint: sudo apt-get install libopenmpi-dev openmpi-bin, then build again");
}

TEST(MpiPlugin, AnotherLibraryIsRefused) {
  EXPECT_EQ(error_of([] { open_mpi_transport("libm.so.6"); }),
            "MPI plug-in: libm.so.6 is not a Bora plug-in: it lacks bora_mpi_plugin_version");
}

TEST(MpiPlugin, AFileThatIsNoLibraryIsNamed) {
  const std::string path = ::testing::TempDir() + "/not_a_library_either.so";
  std::ofstream(path) << "text";
  const auto text = error_of([&] { open_mpi_transport(path); });
  EXPECT_THAT(text, StartsWith("MPI plug-in: " + path + " cannot be loaded: "));
  EXPECT_THAT(text, HasSubstr("file too short"));
}

TEST(MpiPlugin, OneWorkerNeverOpensIt) {
  for (const auto launcher : {Launcher::none, Launcher::mpirun, Launcher::torchrun}) {
    const auto alone = make_communicator(LaunchEnvironment{launcher, 0, 1, 0, 1, "here"},
                                         {.mpi_library = "libbora_mpi_absent.so"});
    EXPECT_EQ(alone->transport(), "self");
  }
}

TEST(MpiPlugin, TorchrunStartsNoWorkersOnCpus) {
  EXPECT_EQ(error_of([] { make_communicator(LaunchEnvironment{Launcher::torchrun, 0, 4, 0, 4, "here"}); }),
            "workers: torchrun started 4 workers, and has no means for workers on CPUs to talk\n"
            "hint: mpirun -n 4 or srun -n 4 --mpi=pmix");
}

}  // namespace
}  // namespace bora::mesh
