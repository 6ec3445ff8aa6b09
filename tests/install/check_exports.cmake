# SPDX-License-Identifier: Apache-2.0
# cmake -D LIBRARY -D HEADER -D NM -P: the library exports each function that the header declares, and no other symbol.
# Anything else that it exported could collide with the same symbol of a framework in the same process.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${text}")
list(TRANSFORM lines REPLACE " .*" "")

file(READ ${HEADER} header)
string(REGEX REPLACE "/\\*([^*]|\\*[^/])*\\*/" "" header "${header}")  # a comment may mention a function, too
string(REGEX MATCHALL "casync_[a-z_]+\\(" declared "${header}")
list(TRANSFORM declared REPLACE "\\(" "")
list(REMOVE_DUPLICATES declared)

foreach(function IN LISTS declared)
  if(NOT function IN_LIST lines)
    message(SEND_ERROR "${function} is declared in ${HEADER}, but ${LIBRARY} does not export it")
  endif()
endforeach()
foreach(symbol IN LISTS lines)
  if(NOT symbol IN_LIST declared)
    message(SEND_ERROR "${LIBRARY} exports ${symbol}, which ${HEADER} does not declare")
  endif()
endforeach()
list(LENGTH declared count)
if(count LESS 10)
  message(SEND_ERROR "only ${count} functions were read from ${HEADER}: this check no longer understands it")
endif()
