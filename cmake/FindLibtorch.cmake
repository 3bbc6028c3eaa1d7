# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Finds libtorch inside an unpacked PyTorch wheel and defines the imported targets libtorch::c10 and libtorch::cpu. The
# wheel's own CMake package is not used: for a CUDA wheel it demands a CUDA toolkit and a Python interpreter.
#
#   LIBTORCH_DIR        (cache or environment) the `torch` folder of the wheel; scripts/setup.sh puts it below BORA_DEPS
#   Libtorch_REAL_DIR   where that folder lies, if LIBTORCH_DIR is a link
#   Libtorch_VERSION    read from the headers
include(BoraDepsFolder)
set(LIBTORCH_DIR "$ENV{LIBTORCH_DIR}" CACHE PATH "the torch folder of the unpacked wheel")
if(NOT LIBTORCH_DIR)
  bora_deps_folder(_deps)
  set(LIBTORCH_DIR "${_deps}/libtorch-2.11.0/torch" CACHE PATH "the torch folder of the unpacked wheel" FORCE)
endif()

file(REAL_PATH "${LIBTORCH_DIR}" Libtorch_REAL_DIR)

# Not cached, so that another LIBTORCH_DIR is another libtorch.
foreach(_part "INCLUDE_DIR;include" "CPU_LIBRARY;lib/libtorch_cpu.so" "C10_LIBRARY;lib/libc10.so"
              "GOMP_LIBRARY;lib/libgomp.so.1")
  list(GET _part 0 _name)
  list(GET _part 1 _file)
  unset(Libtorch_${_name})
  if(EXISTS ${LIBTORCH_DIR}/${_file})
    set(Libtorch_${_name} ${LIBTORCH_DIR}/${_file})
  endif()
endforeach()
set(_header ${LIBTORCH_DIR}/include/torch/headeronly/version.h)
if(EXISTS ${_header})
  file(STRINGS ${_header} _version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
  string(REPLACE ";" "." Libtorch_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_GOMP_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "looked in '${LIBTORCH_DIR}': run scripts/setup.sh, or set LIBTORCH_DIR")

if(Libtorch_FOUND AND NOT TARGET libtorch::cpu)
  # The wheel's headers hold a newer fmt than the system's libfmt, which Bora links: a folder with nothing but the
  # system's fmt goes before them.
  find_path(Libtorch_SYSTEM_FMT fmt/core.h REQUIRED NO_CMAKE_PATH)
  mark_as_advanced(Libtorch_SYSTEM_FMT)
  set(_first ${CMAKE_BINARY_DIR}/system_fmt)
  file(MAKE_DIRECTORY ${_first})
  file(CREATE_LINK ${Libtorch_SYSTEM_FMT}/fmt ${_first}/fmt SYMBOLIC)

  foreach(_name c10 cpu)
    string(TOUPPER ${_name} _upper)
    add_library(libtorch::${_name} SHARED IMPORTED GLOBAL)
    set_target_properties(libtorch::${_name} PROPERTIES IMPORTED_LOCATION ${Libtorch_${_upper}_LIBRARY})
  endforeach()
  target_compile_definitions(libtorch::c10 INTERFACE AT_PER_OPERATOR_HEADERS)
  target_include_directories(libtorch::c10 INTERFACE
    ${_first} ${Libtorch_INCLUDE_DIR} ${Libtorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(libtorch::cpu INTERFACE libtorch::c10)
  # libtorch_cpu needs libcudart and libcupti; it finds them at run time through its own rpath, we never link them.
  # The old kind of rpath, as in the wheel: LD_LIBRARY_PATH must not bring in another libgomp or another torch.
  target_link_options(libtorch::cpu INTERFACE
    LINKER:--unresolved-symbols=ignore-in-shared-libs LINKER:--disable-new-dtags)

  # The wheel's C++ ABI must be ours: a mismatch shows as an undefined reference here, not as a crash later.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${Libtorch_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${Libtorch_C10_LIBRARY})
  set(CMAKE_REQUIRED_LINK_OPTIONS "LINKER:--unresolved-symbols=ignore-in-shared-libs")
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <c10/util/Exception.h>
    int main() { try { throw c10::Error({__func__, __FILE__, 1}, std::string(\"abi\")); } catch (const c10::Error&) {} }"
    Libtorch_ABI_MATCHES)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_QUIET)
  if(NOT Libtorch_ABI_MATCHES)
    unset(Libtorch_ABI_MATCHES CACHE)
    message(FATAL_ERROR "libtorch in ${LIBTORCH_DIR} does not link with ${CMAKE_CXX_COMPILER_ID} "
      "${CMAKE_CXX_COMPILER_VERSION}: another C++ ABI. Bora needs the manylinux_2_28 wheel and g++ 12 or newer.")
  endif()
endif()
