# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# Run by cmake --install, with PROGRAM, MAN and DATA set: bora(1), a page for each command, and completions. A program
# that does not run on this machine leaves them out.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
function(install_words file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text)
  if(code EQUAL 0)
    message(STATUS "Installing: ${root}/${file}")
    file(WRITE "${root}/${file}" "${text}")
  else()
    message(WARNING "${file} is left out: ${PROGRAM} does not run here (${code})")
  endif()
endfunction()

install_words(${MAN}/bora.1 help --man)
execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE help)
string(REGEX MATCHALL "\n  [a-z-]+ " commands "${help}")
foreach(command IN LISTS commands)
  string(STRIP "${command}" command)
  install_words(${MAN}/bora-${command}.1 help --man ${command})
endforeach()
install_words(${DATA}/bash-completion/completions/bora completion bash)
install_words(${DATA}/zsh/site-functions/_bora completion zsh)
install_words(${DATA}/fish/vendor_completions.d/bora.fish completion fish)
