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

# casync_grouped_codecs(OUTPUT TEXT...): these texts as sources of a library; eight of them are compiled as one, so that
# the headers of their operators are read once. Those that are shipped are compiled alone, as users' codec files are, and
# so are those under a sanitizer, which have options of their own.
function(casync_grouped_codecs output)
  set(${output} ${ARGN} PARENT_SCOPE)
  if(NOT CASYNC_GROUPED OR NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    return()
  endif()
  set(sources)
  set(number 0)
  set(texts ${ARGN})
  while(texts)
    list(SUBLIST texts 0 8 together)
    list(REMOVE_ITEM texts ${together})
    set(group ${CMAKE_CURRENT_BINARY_DIR}/codecs/group_${number}.cc)
    math(EXPR number "${number} + 1")
    # A text names itself as the file to include for each instruction set: the group does so ahead of the first and
    # behind the last.
    file(RELATIVE_PATH path ${PROJECT_BINARY_DIR} ${group})
    set(include "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${path}\"\n")
    set(content "${include}#include <hwy/foreach_target.h>\n")
    foreach(text IN LISTS together)
      file(RELATIVE_PATH path ${PROJECT_BINARY_DIR} ${text})
      string(APPEND content "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${group} CONTENT "${content}${include}" @ONLY)
    set_source_files_properties(${together} PROPERTIES HEADER_FILE_ONLY ON)
    set_source_files_properties(${group} PROPERTIES OBJECT_DEPENDS "${together}" COMPILE_OPTIONS -g1)
    list(APPEND sources ${group} ${together})
  endwhile()
  set(${output} ${sources} PARENT_SCOPE)
endfunction()
