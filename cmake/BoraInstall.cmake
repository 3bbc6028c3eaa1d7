# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# cmake --install build/release --prefix X: the program, the static libraries, the public headers, and a package file,
# so that another project's find_package(Bora) has bora::models and every other room.
include(CMakePackageConfigHelpers)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/Bora)

get_property(_rooms GLOBAL PROPERTY BORA_ROOMS)
install(TARGETS ${_rooms} EXPORT BoraExports ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT BoraExports NAMESPACE bora:: DESTINATION ${_package})

file(STRINGS cmake/installed_headers.txt _headers REGEX "^bora/")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/installed_headers.txt)
foreach(_header IN LISTS _headers)
  cmake_path(GET _header PARENT_PATH _folder)
  install(FILES src/${_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${_folder})
endforeach()
if(TARGET bora)
  install(TARGETS bora bora-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(cmake/BoraConfig.cmake.in BoraConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(BoraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/BoraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/BoraConfigVersion.cmake
  cmake/BoraDependencies.cmake cmake/BoraDepsFolder.cmake cmake/FindLibtorch.cmake DESTINATION ${_package})
