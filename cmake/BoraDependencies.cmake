# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Every outside library, found once. scripts/setup.sh installs them. Also installed, and included by BoraConfig.cmake:
# what is defined here exists for the build of Bora and for whoever links the installed libraries.
find_package(Threads REQUIRED)
find_package(fmt 9.1 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(CLI11 REQUIRED)

# bora_system_library(NAME HEADER LIBRARY): a target for a Debian library without a CMake package
function(bora_system_library name header library)
  if(TARGET ${name})
    return()
  endif()
  find_path(${name}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${name}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} INTERFACE ${${name}_INCLUDE_DIR})
  target_link_libraries(${name} INTERFACE ${${name}_LIBRARY})
endfunction()
bora_system_library(bora_xxhash xxhash.h xxhash)
bora_system_library(bora_zstd zstd.h zstd)
bora_system_library(bora_blosc blosc.h blosc)
bora_system_library(bora_flac FLAC/stream_decoder.h FLAC)
bora_system_library(bora_pcre2 pcre2.h pcre2-8)
bora_system_library(bora_utf8proc utf8proc.h utf8proc)
bora_system_library(bora_highway hwy/highway.h hwy)

if(BORA_TORCH)
  find_package(Libtorch 2.11.0 EXACT REQUIRED)
endif()
