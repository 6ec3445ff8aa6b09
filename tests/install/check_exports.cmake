# SPDX-License-Identifier: Apache-2.0
# cmake -D LIBRARY -D HEADER -D NM -P: the library exports casync_* only, at least one; with a header exactly the
# functions that it declares.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" exported "${text}")
list(TRANSFORM exported REPLACE " .*" "")
list(LENGTH exported count)
if(count EQUAL 0)
  message(SEND_ERROR "${LIBRARY} exports nothing")
endif()

set(others ${exported})
list(FILTER others EXCLUDE REGEX "^casync_")
foreach(symbol IN LISTS others)
  message(SEND_ERROR "${LIBRARY} exports ${symbol}: cmake/casync.map lets only casync_* out")
endforeach()

if(HEADER)
  file(READ ${HEADER} header)
  string(REGEX REPLACE "/\\*([^*]|\\*[^/])*\\*/" "" header "${header}")  # comments mention functions, too
  string(REGEX MATCHALL "casync_[a-z_]+\\(" declared "${header}")
  list(TRANSFORM declared REPLACE "\\(" "")
  list(LENGTH declared count)
  if(count LESS 10)
    message(SEND_ERROR "only ${count} functions were read from ${HEADER}: this check no longer understands it")
  endif()
  set(missing ${declared})
  list(REMOVE_ITEM missing ${exported})
  list(REMOVE_ITEM exported ${declared})
  if(missing OR exported)
    message(SEND_ERROR "declared in ${HEADER} and not exported: ${missing}; exported and not declared: ${exported}")
  endif()
endif()
