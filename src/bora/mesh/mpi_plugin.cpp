// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/mpi_plugin.h"

#include <dlfcn.h>

#include <array>

#include "bora/base/error.h"
#include "bora/mesh/watchdog.h"

namespace bora::mesh {
namespace {

constexpr const char* kVersion = "bora_mpi_plugin_version";
constexpr const char* kOpen = "bora_mpi_open";

std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given by the loader";
}

// The loader says "cannot open shared object file" both for a missing plug-in and for a missing libmpi; the
// name in front tells which.
[[noreturn]] void cannot_load(const std::string& library) {
  const auto error = loader_error();
  if (error.starts_with(library + ":") && error.find("No such file") != std::string::npos)
    fail(ErrorKind::Unsupported,
         "MPI plug-in: not built: {} was not found\n"
         "hint: sudo apt-get install libopenmpi-dev openmpi-bin, then build again",
         library);
  fail(ErrorKind::Unsupported, "MPI plug-in: {} cannot be loaded: {}\nhint: sudo apt-get install openmpi-bin",
       library, error);
}

// MPI's own plug-ins expect to find its symbols among the global ones; this plug-in's are hidden.
void* load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) cannot_load(library);
  return handle;
}

template <class F>
F* symbol(void* handle, const std::string& library, const char* name) {
  void* found = dlsym(handle, name);
  if (!found)
    fail(ErrorKind::Unsupported, "MPI plug-in: {} is not a Bora plug-in: it lacks {}", library, name);
  return reinterpret_cast<F*>(found);
}

}  // namespace

std::unique_ptr<WorldTransport> open_mpi_transport(const std::string& library) {
  void* handle = load(library);
  const int version = symbol<int()>(handle, library, kVersion)();
  if (version != kMpiPluginVersion)
    fail(ErrorKind::Unsupported,
         "MPI plug-in: {} has version {}, this program needs {}\nhint: build both from one source tree",
         library, version, kMpiPluginVersion);
  std::array<char, 1024> error{};
  auto* open = symbol<WorldTransport*(char*, std::size_t)>(handle, library, kOpen);
  std::unique_ptr<WorldTransport> transport(open(error.data(), error.size()));
  if (!transport) fail(ErrorKind::Io, "MPI plug-in: {}", error.data());
  return transport;
}

namespace {

// MPI's start waits for all workers, for ever.
std::unique_ptr<WorldTransport> start_mpi(const LaunchEnvironment& launch,
                                          const CommunicatorOptions& options) {
  const Watchdog watchdog(
      fmt::format("worker {} of {} (host {}): the start of MPI", launch.rank, launch.size, launch.host),
      options.start_seconds);
  return open_mpi_transport(options.mpi_library);
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch,
                                                const CommunicatorOptions& options) {
  if (launch.size == 1) return make_self_communicator();
  if (launch.launcher == Launcher::torchrun)
    fail(ErrorKind::Unsupported,
         "workers: torchrun started {} workers, and has no means for workers on CPUs to talk\n"
         "hint: mpirun -n {} or srun -n {} --mpi=pmix",
         launch.size, launch.size, launch.size);
  auto transport = start_mpi(launch, options);
  if (transport->size() != launch.size || transport->rank() != launch.rank) {
    const int rank = transport->rank(), size = transport->size();
    transport->abandon();
    fail(ErrorKind::Usage,
         "workers: {} says worker {} of {}, MPI says worker {} of {}\n"
         "hint: start with the mpirun of the same MPI, or with srun --mpi=pmix",
         name_of(launch.launcher), launch.rank, launch.size, rank, size);
  }
  return make_communicator(std::move(transport), options.deadline_seconds);
}

}  // namespace bora::mesh
