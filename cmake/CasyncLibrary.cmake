# SPDX-License-Identifier: Apache-2.0
# casync_library(NAME SOURCES ... HEADERS ... DEPS ... [PRIVATE_DEPS ...] [SHARED | OBJECT] [GROUPED])
# The only way a library is made: static unless said otherwise, position independent, C++20, includes from the
# repository root, and each header checked to compile alone: a source includes its own header first, and
# all_verify_interface_header_sets compiles the headers that have no source.
#
# casync_program(NAME SOURCES ... DEPS ... [GROUPED])
# The only way a program is made. casync_test (CasyncTest.cmake) makes the tests.

# Debug information makes programs large, so a quick linker saves time. Programs that are shipped have none, and are linked
# by the compiler's own linker.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold CASYNC_LINKS_WITH_MOLD)
  if(CASYNC_LINKS_WITH_MOLD)
    add_link_options($<$<LINK_LANGUAGE:C,CXX>:-fuse-ld=mold>)
  endif()
endif()

add_library(casync_options INTERFACE)
target_compile_features(casync_options INTERFACE cxx_std_20)
target_compile_options(casync_options INTERFACE -Wall -Wextra -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# GCC 12 sees an overlap in std::string's own operator+ at -O3 (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(casync_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
endif()
target_include_directories(casync_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
# Failed checks name their source by __FILE__: what is shipped has its path in this project, not that on the machine that
# built it. Of two that fit the last one counts, so a build folder below the sources comes second. Debug information, which
# is not shipped, keeps the paths that a debugger opens.
foreach(root IN ITEMS "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_compile_options(casync_options INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${root}/=>")
endforeach()

# GROUPED: the sources of a folder are compiled as one, at most twelve together, so that their common headers are read
# once. Names in their anonymous namespaces have to differ. Sources with options of their own are compiled alone, and so
# are those that include themselves: they say SKIP_UNITY_BUILD_INCLUSION. CASYNC_GROUPED=OFF compiles each source alone.
# CMake's own unity builds write absolute paths, so that no compiler cache would serve two checkouts.
option(CASYNC_GROUPED "compile the sources of a folder together" ON)
function(casync_grouped name)
  if(CASYNC_GROUPED)
    # When the folder's CMakeLists.txt ends, its sources have their options.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL casync_group_sources ${name})")
  endif()
endfunction()

function(casync_group_sources name)
  get_target_property(sources ${name} SOURCES)
  set(alone)
  set(groups)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(skipped ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(is_header ${source} HEADER_FILE_ONLY)
    if(options OR skipped OR is_header OR NOT source MATCHES "\\.cc$")
      list(APPEND alone ${source})
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "in_${folder}" group)
    math(EXPR count_${group} "${count_${group}} + 1")
    math(EXPR part "(${count_${group}} - 1) / 12")
    list(APPEND groups ${group}_${part})
    list(APPEND sources_${group}_${part} ${source})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    list(LENGTH sources_${group} length)
    if(length EQUAL 1)
      list(APPEND alone ${sources_${group}})
      continue()
    endif()
    set(content)
    foreach(source IN LISTS sources_${group})
      cmake_path(ABSOLUTE_PATH source)
      foreach(root IN ITEMS ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
        cmake_path(IS_PREFIX root ${source} is_below)
        if(is_below)
          cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root})
          break()
        endif()
      endforeach()
      string(APPEND content "#include \"${source}\"\n")
    endforeach()
    set(path ${CMAKE_CURRENT_BINARY_DIR}/grouped/${name}/${group}.cc)
    file(CONFIGURE OUTPUT ${path} CONTENT "${content}" @ONLY)
    list(APPEND alone ${path})
  endforeach()
  set_property(TARGET ${name} PROPERTY SOURCES ${alone})
endfunction()

function(casync_library name)
  cmake_parse_arguments(ARG "SHARED;OBJECT;GROUPED" "" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(kind STATIC)
  if(ARG_SHARED)
    set(kind SHARED)
  elseif(ARG_OBJECT)
    set(kind OBJECT)
  endif()
  add_library(${name} ${kind} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    CASYNC_SOURCES "${ARG_SOURCES}")  # each alone, also where they are grouped
  set(alone ${ARG_HEADERS})
  foreach(source IN LISTS ARG_SOURCES)
    string(REGEX REPLACE "\\.cc$" ".h" header "${source}")
    list(REMOVE_ITEM alone "${header}")
  endforeach()
  list(REMOVE_ITEM ARG_HEADERS ${alone})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  if(alone)
    target_sources(${name} PUBLIC FILE_SET alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
    set_target_properties(${name} PROPERTIES
      VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY alone)
  endif()
  target_link_libraries(${name} PUBLIC casync_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(ARG_GROUPED)
    casync_grouped(${name} ${ARG_SOURCES})
  endif()
endfunction()

function(casync_program name)
  cmake_parse_arguments(ARG "GROUPED" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE casync_options ${ARG_DEPS})
  if(ARG_GROUPED)
    casync_grouped(${name} ${ARG_SOURCES})
  endif()
endfunction()
