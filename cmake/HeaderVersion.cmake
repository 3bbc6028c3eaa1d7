# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# header_version(out header prefix): sets `out` to the version that the lines "#define <prefix>_MAJOR 9", _MINOR, and
# _PATCH or _PATCHLEVEL of a header say. Unset where the header is not there.
function(header_version out header prefix)
  unset(${out} PARENT_SCOPE)
  if(EXISTS ${header})
    file(STRINGS ${header} lines REGEX "^#define ${prefix}_(MAJOR|MINOR|PATCH|PATCHLEVEL) ")
    list(TRANSFORM lines REPLACE "^#define [A-Z_]+ +" "")
    list(JOIN lines "." version)
    set(${out} ${version} PARENT_SCOPE)
  endif()
endfunction()
