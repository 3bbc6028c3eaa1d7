// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/loopback.h"

#include <dlfcn.h>
#include <link.h>

#include "bora/base/env.h"

namespace bora::run {

bool stays_here(const std::string& hosts) {
  if (!hosts.empty()) return false;
  for (const char* elsewhere :
       {"PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude", "OMPI_MCA_btl_tcp_if_include",
        "OMPI_MCA_btl_tcp_if_exclude"})
    if (env::launcher(elsewhere)) return false;
  return !env::launcher("SLURM_JOB_ID") || env::launcher("SLURM_JOB_NUM_NODES") == "1";
}

// The loader knows where the program's plug-ins are.
std::optional<std::string> loopback_preload() {
  void* library = ::dlopen("libbora_loopback.so", RTLD_LAZY | RTLD_LOCAL);
  link_map* place = nullptr;
  if (library == nullptr || ::dlinfo(library, RTLD_DI_LINKMAP, &place) != 0) return std::nullopt;
  std::string path = place->l_name;
  if (path.find_first_of(" :") != path.npos) return std::nullopt;  // which divide the entries of LD_PRELOAD
  const auto before = env::launcher("LD_PRELOAD");
  return before ? path + ":" + *before : path;
}

}  // namespace bora::run
