# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors

set(BORA_PCH_FOLDER ${CMAKE_CURRENT_LIST_DIR})
# Where CMAKE_UNITY_BUILD is on, so many sources of a target are compiled together: headers and templates that they
# share are work once. So no two of them give one name to different things, in namespaces without a name neither.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# bora_room(NAME [DEPS room...] [LIBS lib...] [PRIVATE lib...] [PCH header] [APART folder header] [BATCH n]
#   [FRONT source...] [TORCH] [CALLS])
#   One folder, one library: every *.cpp beside the CMakeLists.txt, except *_test.cpp, which become one test program
#   `NAME_test` (registered with ctest under the same name). A header-only room becomes an interface library.
#   LIBS are seen by whoever links the room; PRIVATE ones by its own sources and tests alone.
#   TORCH: the room needs libtorch, itself or through another room, and is skipped where BORA_TORCH is off.
#   CALLS: the room calls what computes, and computes little itself: more optimization than -Og made no step faster, and
#   the compiler's work twice as long.
#   APART: sources in a folder have a precompiled header of their own, with more in it than the others could bear.
#   PCH: the room's own precompiled header; the others share one that base makes, and their tests one of base_test's.
#   BATCH: how many sources are compiled together, of the room and of its tests; 1: each alone.
#   FRONT: sources that the program in front needs (apps/bora): compiled apart from the room's others, which call libtorch.
function(bora_room name)
  cmake_parse_arguments(arg "TORCH;CALLS" "PCH;BATCH" "APART;DEPS;FRONT;LIBS;PRIVATE" ${ARGN})
  if(arg_BATCH)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
  endif()
  if(arg_TORCH AND NOT BORA_TORCH)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    set(scope PUBLIC)
    set(own ${sources})
    if(arg_APART)
      list(POP_FRONT arg_APART folder header)
      set(apart ${sources})
      list(FILTER apart INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
      list(REMOVE_ITEM sources ${apart})
      add_library(bora_${name}_${folder} OBJECT ${apart})
      bora_compile_options(bora_${name}_${folder})
      target_precompile_headers(bora_${name}_${folder} PRIVATE ${header})
      list(TRANSFORM arg_DEPS PREPEND bora_ OUTPUT_VARIABLE rooms)
      target_link_libraries(bora_${name}_${folder} PRIVATE ${rooms} ${arg_PRIVATE})
      target_include_directories(bora_${name}_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/src)
      target_compile_features(bora_${name}_${folder} PRIVATE cxx_std_20)
      list(APPEND sources $<TARGET_OBJECTS:bora_${name}_${folder}>)
    endif()
    add_library(bora_${name} STATIC ${sources})
    if(arg_FRONT)
      list(TRANSFORM arg_FRONT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
      list(REMOVE_ITEM own ${arg_FRONT})
      set_target_properties(bora_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
      bora_compile_together(front ${arg_FRONT})
      bora_compile_together(other ${own})
    endif()
    bora_compile_options(bora_${name})
    if(arg_CALLS)
      target_compile_options(bora_${name} PRIVATE $<$<CONFIG:Release>:-Og>)
    endif()
    target_link_libraries(bora_${name} PRIVATE ${arg_PRIVATE})
    bora_precompile(bora_${name} bora_base ${BORA_PCH_FOLDER}/pch.h ${arg_PCH})
  else()
    set(scope INTERFACE)
    add_library(bora_${name} INTERFACE)
  endif()
  add_library(bora::${name} ALIAS bora_${name})
  set_target_properties(bora_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(bora_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  target_compile_features(bora_${name} ${scope} cxx_std_20)
  list(TRANSFORM arg_DEPS PREPEND bora_)
  target_link_libraries(bora_${name} ${scope} ${arg_DEPS} ${arg_LIBS})
  set_property(GLOBAL APPEND PROPERTY BORA_ROOMS bora_${name})
  if(tests AND BORA_TESTS)
    bora_test(${name}_test SOURCES ${tests} LIBS bora_${name} ${arg_PRIVATE} PCH ${arg_PCH})
  endif()
endfunction()

# bora_compile_together(GROUP source...)   in groups as large as others, where a target's sources are compiled so
function(bora_compile_together group)
  set(number 0)
  foreach(source IN LISTS ARGN)
    math(EXPR batch "${number} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    math(EXPR number "${number} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${batch})
  endforeach()
endfunction()

# bora_test(NAME SOURCES file... LIBS lib... [PCH header] [SHARDS n])
#   One GoogleTest program, and one ctest entry; with SHARDS so many, NAME_1 and on, each with its share of the tests.
function(bora_test name)
  cmake_parse_arguments(arg "" "PCH;SHARDS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  bora_compile_options(${name})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)  # the libraries under test stay as they ship
  bora_precompile(${name} base_test ${BORA_PCH_FOLDER}/test_pch.h ${arg_PCH})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    BORA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" BORA_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  set(timeout 900)  # of what hangs: a slow machine takes thrice as long as a quick one
  if(BORA_SANITIZE)
    set(timeout 1800)
  endif()
  if(arg_SHARDS)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_${shard}.tmp)
      file(MAKE_DIRECTORY ${folder})
      add_test(NAME ${name}_${shard} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}_${shard} PROPERTIES LABELS unit TIMEOUT ${timeout}
        ENVIRONMENT "HF_HUB_OFFLINE=1;GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index};TEST_TMPDIR=${folder}/")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${timeout} ENVIRONMENT HF_HUB_OFFLINE=1)
  endif()
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    set_property(GLOBAL APPEND PROPERTY BORA_TEST_SOURCES ${source})
  endforeach()
endfunction()

# bora_precompile(TARGET OWNER header [own...])   `header`, which OWNER compiles for all; with own ones both are TARGET's
function(bora_precompile target owner header)
  if(ARGN OR target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN} ${header})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# What is built with optimization can be attacked, so it is hardened: copies know the size of what they write to, a
# broken stack ends the program, addresses are chosen by chance, and what the linker resolves is closed before main.
# Sanitizers bring checks of their own and are not to be mixed with these. libstdc++'s assertions stay off: they would
# test every index in loops over numbers and tokens. tests/hardening looks at what the linker made.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # CMake passes -pie for itself only where this was asked
function(bora_harden target)
  if(BORA_SANITIZE OR BORA_FUZZ)
    return()
  endif()
  set(optimized $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  set(flags -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  list(JOIN flags "," for_the_host)
  target_compile_options(${target} PRIVATE "$<$<AND:${optimized},$<COMPILE_LANGUAGE:CXX>>:${flags}>"
    "$<$<AND:${optimized},$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=${for_the_host}>")
  target_link_options(${target} PRIVATE "$<${optimized}:LINKER:-z,relro,-z,now,-z,noexecstack>")
endfunction()

# g++ 12 warns of std::string's own code, with precompiled headers in two ways more: those two stay on without them.
# a*b+c must round the same in a loop's body and in its tail, so the compiler fuses nothing.
function(bora_compile_options target)
  set(false_alarms -Wno-restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    list(APPEND false_alarms -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  # A local name may be another source's too, where they are compiled together.
  get_target_property(together ${target} UNITY_BUILD)
  set(shadow -Wshadow$<$<AND:$<BOOL:${together}>,$<CXX_COMPILER_ID:GNU>>:=local>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic ${shadow} -Wno-missing-field-initializers
    "$<$<CXX_COMPILER_ID:GNU>:${false_alarms}>" -ffp-contract=off)
  # A tenth of g++'s time went into collecting garbage of a few hundred megabytes.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=600000>")
  bora_harden(${target})
  if(BORA_FUZZ OR BORA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=undefined
      -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(BORA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()
