# SPDX-License-Identifier: Apache-2.0
# casync_library(NAME SOURCES ... HEADERS ... DEPS ... [PRIVATE_DEPS ...] [SHARED | OBJECT])
# The only way a library is made: static unless said otherwise, position independent, C++20, includes from the
# repository root, and each header checked to compile alone.
#
# casync_program(NAME SOURCES ... DEPS ...)
# The only way a program is made. casync_test (CasyncTest.cmake) makes the tests.
add_library(casync_options INTERFACE)
target_compile_features(casync_options INTERFACE cxx_std_20)
target_compile_options(casync_options INTERFACE -Wall -Wextra -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# GCC 12 sees an overlap in std::string's own operator+ at -O3 (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(casync_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_include_directories(casync_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

function(casync_library name)
  cmake_parse_arguments(ARG "SHARED;OBJECT" "" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS" ${ARGN})
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
    VISIBILITY_INLINES_HIDDEN ON)
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_link_libraries(${name} PUBLIC casync_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()

function(casync_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE casync_options ${ARG_DEPS})
endfunction()
