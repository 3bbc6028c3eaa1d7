# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# The CUDA language, once for all plug-ins that use it: BORA_CUDA_FOUND says whether nvcc was found, and the header of
# cuBLASLt beside it.
set(BORA_CUDA_FOUND FALSE)
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER)
  find_program(BORA_NVCC nvcc HINTS ENV CUDACXX PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(BORA_NVCC)
  if(BORA_NVCC)
    set(CMAKE_CUDA_COMPILER ${BORA_NVCC})
  endif()
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)  # A100 to B200; newer ones translate what is for 100
endif()
enable_language(CUDA)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # the one that libtorch brings: no toolkit is needed, and a process has one
find_package(CUDAToolkit REQUIRED)
find_file(BORA_CUBLASLT_HEADER cublasLt.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
mark_as_advanced(BORA_CUBLASLT_HEADER)
if(BORA_CUBLASLT_HEADER)
  set(BORA_CUDA_FOUND TRUE)
endif()
