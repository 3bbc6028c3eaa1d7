# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Finds Arrow and Parquet inside an unpacked pyarrow wheel, which has no CMake package of its own, and defines the
# imported targets arrow_wheel::arrow and arrow_wheel::parquet.
#
#   ARROW_DIR           (cache or environment) the `pyarrow` folder of the wheel; scripts/setup.sh --arrow puts it below
#                       BORA_DEPS
#   ArrowWheel_VERSION  read from the headers
include(BoraDepsFolder)
set(ARROW_DIR "$ENV{ARROW_DIR}" CACHE PATH "the pyarrow folder of the unpacked wheel")
set(_arrow_dir "${ARROW_DIR}")
if(NOT _arrow_dir)
  bora_deps_folder(_deps)
  set(_arrow_dir "${_deps}/pyarrow-26.0.1/pyarrow")
endif()

# Not cached, so that a wheel that is fetched later is found.
set(_header ${_arrow_dir}/include/arrow/util/config.h)
unset(ArrowWheel_VERSION)
if(EXISTS ${_header})
  file(STRINGS ${_header} _version REGEX "define ARROW_VERSION_STRING ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" ArrowWheel_VERSION "${_version}")
  file(STRINGS ${_header} _so REGEX "define ARROW_SO_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" _so "${_so}")
endif()
foreach(_name arrow parquet)
  unset(ArrowWheel_${_name})
  if(EXISTS ${_arrow_dir}/lib${_name}.so.${_so})
    set(ArrowWheel_${_name} ${_arrow_dir}/lib${_name}.so.${_so})
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowWheel REQUIRED_VARS ArrowWheel_arrow ArrowWheel_parquet
  VERSION_VAR ArrowWheel_VERSION)

if(ArrowWheel_FOUND AND NOT TARGET arrow_wheel::arrow)
  foreach(_name arrow parquet)
    add_library(arrow_wheel::${_name} SHARED IMPORTED GLOBAL)
    set_target_properties(arrow_wheel::${_name} PROPERTIES IMPORTED_LOCATION ${ArrowWheel_${_name}})
  endforeach()
  target_include_directories(arrow_wheel::arrow SYSTEM INTERFACE ${_arrow_dir}/include)
  target_link_libraries(arrow_wheel::parquet INTERFACE arrow_wheel::arrow)
  set_target_properties(arrow_wheel::parquet PROPERTIES IMPORTED_LINK_DEPENDENT_LIBRARIES arrow_wheel::arrow)

  # The wheel's C++ ABI must be ours: a mismatch shows as an undefined reference here, not as a crash later.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${_arrow_dir}/include)
  set(CMAKE_REQUIRED_LIBRARIES ${ArrowWheel_arrow})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <arrow/status.h>
    int main() { return arrow::Status::Invalid(std::string(\"abi\")).ToString().empty(); }" ArrowWheel_ABI_MATCHES)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_QUIET)
  if(NOT ArrowWheel_ABI_MATCHES)
    unset(ArrowWheel_ABI_MATCHES CACHE)
    set(ArrowWheel_FOUND FALSE)
    message(WARNING "Arrow in ${_arrow_dir} does not link with ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  endif()
endif()
