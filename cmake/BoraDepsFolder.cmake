# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Where scripts/setup.sh keeps what it fetches.
function(bora_deps_folder out)
  if(DEFINED ENV{BORA_DEPS})
    set(${out} "$ENV{BORA_DEPS}" PARENT_SCOPE)
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(${out} "$ENV{XDG_CACHE_HOME}/bora" PARENT_SCOPE)
  else()
    set(${out} "$ENV{HOME}/.cache/bora" PARENT_SCOPE)
  endif()
endfunction()
