# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# cmake -DFROM=CHECKOUT -DTO=revision.cpp -P revision.cmake: which commit this is, and whether files differ from it.
# Empty without git, or outside of a checkout. Writes only what is new, so that nothing is linked again for nothing.
find_program(git git)
set(revision "")
if(git AND EXISTS ${FROM}/.git)
  execute_process(COMMAND ${git} rev-parse HEAD WORKING_DIRECTORY ${FROM} OUTPUT_VARIABLE revision
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY ${FROM}
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(revision AND changes)
    string(APPEND revision "-changed")
  endif()
endif()
set(text "// Made by revision.cmake.\n#include \"revision.h\"\n\nconst char* const kRevision = \"${revision}\";\n")
set(old "")
if(EXISTS ${TO})
  file(READ ${TO} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${TO} "${text}")
endif()
