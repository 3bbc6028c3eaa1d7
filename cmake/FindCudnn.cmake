# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Finds the headers of cuDNN and of its frontend, and defines the imported target cudnn::frontend. No library is linked:
# the plug-in opens libcudnn when it runs.
#
#   CUDNN_DIR      what `scripts/setup.sh --cudnn` has unpacked; default: in the folder where it puts that
#   Cudnn_VERSION  read from the header
find_package(CUDAToolkit QUIET)
if(NOT CUDNN_DIR)
  file(GLOB _dirs "$ENV{BORA_DEPS}/cudnn-*" "$ENV{XDG_CACHE_HOME}/bora/cudnn-*" "$ENV{HOME}/.cache/bora/cudnn-*")
  if(_dirs)
    list(GET _dirs 0 CUDNN_DIR)
  endif()
endif()
find_path(Cudnn_FRONTEND_DIR cudnn_frontend.h HINTS ${CUDNN_DIR} PATH_SUFFIXES include)
find_path(Cudnn_INCLUDE_DIR cudnn.h HINTS ${CUDNN_DIR} PATHS ${CUDAToolkit_INCLUDE_DIRS}
  PATH_SUFFIXES nvidia/cudnn/include include)
mark_as_advanced(Cudnn_FRONTEND_DIR Cudnn_INCLUDE_DIR)
include(HeaderVersion)
header_version(Cudnn_VERSION ${Cudnn_INCLUDE_DIR}/cudnn_version.h CUDNN)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cudnn REQUIRED_VARS Cudnn_FRONTEND_DIR Cudnn_INCLUDE_DIR VERSION_VAR Cudnn_VERSION)
if(Cudnn_FOUND AND NOT TARGET cudnn::frontend)
  add_library(cudnn::frontend INTERFACE IMPORTED GLOBAL)
  set_target_properties(cudnn::frontend PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Cudnn_FRONTEND_DIR};${Cudnn_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING)
endif()
