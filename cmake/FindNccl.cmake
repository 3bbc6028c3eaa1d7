# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Finds NCCL, which may lie in the CUDA toolkit, where the system keeps its libraries, or in a folder of its own, and
# defines the imported target nccl::nccl.
#
#   NCCL_HOME     (environment) a folder with include/nccl.h and lib/libnccl.so
#   Nccl_VERSION  read from the header
find_package(CUDAToolkit QUIET)
find_path(Nccl_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME PATHS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(Nccl_LIBRARY NAMES nccl libnccl.so.2 HINTS ENV NCCL_HOME PATHS ${CUDAToolkit_LIBRARY_DIR}
  PATH_SUFFIXES lib lib64)
mark_as_advanced(Nccl_INCLUDE_DIR Nccl_LIBRARY)
include(HeaderVersion)
header_version(Nccl_VERSION ${Nccl_INCLUDE_DIR}/nccl.h NCCL)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl REQUIRED_VARS Nccl_LIBRARY Nccl_INCLUDE_DIR VERSION_VAR Nccl_VERSION)
if(Nccl_FOUND AND NOT TARGET nccl::nccl)
  add_library(nccl::nccl SHARED IMPORTED GLOBAL)
  set_target_properties(nccl::nccl PROPERTIES IMPORTED_LOCATION ${Nccl_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${Nccl_INCLUDE_DIR}")
endif()
