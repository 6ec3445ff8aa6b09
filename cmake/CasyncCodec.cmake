# SPDX-License-Identifier: Apache-2.0
# casync_codec(OUTPUT SOURCE): from a codec's .cll file to C++ in the build folder, whose path arrives in OUTPUT. The
# text includes itself once for each instruction set, by its path below the build folder.
function(casync_codec output source)
  get_filename_component(name ${source} NAME_WE)
  file(RELATIVE_PATH below ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  set(text ${CMAKE_CURRENT_BINARY_DIR}/codecs/${name}.cc)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/codecs)
  add_custom_command(OUTPUT ${text}
    COMMAND compllc ${source} --output ${text} --include ${below}/codecs/${name}.cc
    DEPENDS compllc ${source}
    COMMENT "Compiling the codec ${name}")
  set(${output} ${text} PARENT_SCOPE)
endfunction()
