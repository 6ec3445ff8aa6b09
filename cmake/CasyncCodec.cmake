# SPDX-License-Identifier: Apache-2.0
# casync_codec(OUTPUT SOURCE): from a codec's .cll file to C++ in the build folder, whose path arrives in OUTPUT. The
# text includes itself once for each instruction set, by its path below the build folder. With SANITIZED a build under a
# sanitizer instruments it, too: that takes minutes, so a few codecs stand for all.
function(casync_codec output source)
  cmake_parse_arguments(ARG "SANITIZED" "" "" ${ARGN})
  get_filename_component(name ${source} NAME_WE)
  file(RELATIVE_PATH below ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  set(text ${CMAKE_CURRENT_BINARY_DIR}/codecs/${name}.cc)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/codecs)
  add_custom_command(OUTPUT ${text}
    COMMAND compllc ${source} --output ${text} --include ${below}/codecs/${name}.cc
    DEPENDS compllc ${source}
    COMMENT "Compiling the codec ${name}")
  # Lines are enough to debug with; where each variable lives in inlined loops takes as long as compiling does.
  set(options -g1)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT ARG_SANITIZED)
    list(APPEND options -fno-sanitize=all)
  endif()
  set_source_files_properties(${text} PROPERTIES COMPILE_OPTIONS "${options}")
  set(${output} ${text} PARENT_SCOPE)
endfunction()
