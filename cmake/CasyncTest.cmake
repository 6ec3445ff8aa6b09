# SPDX-License-Identifier: Apache-2.0
# casync_test(NAME SOURCES ... DEPS ... LABELS ... [TIMEOUT seconds] [WAITS])
# The only way a C++ test is made: one Catch2 program, one CTest entry of that name.
# WAITS: it computes less than half of its time, as tests of ranks do, and takes one of the places that `jobs` in
# CMakePresets.json gives. All others take two. Until CTest knows how long each takes, the one with the longest timeout goes
# first: a long one among the last would run alone.
# Codec files that tests compile stay in CASYNC_TEST_CODECS, so that the next run compiles those that have changed. The
# folder above is this user's alone, as the cache wants it.
set(CASYNC_TEST_CODECS ${PROJECT_BINARY_DIR}/codec_cache/entries)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/codec_cache)
file(CHMOD ${PROJECT_BINARY_DIR}/codec_cache PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
# The environment of all tests. While UCX is loaded it replaces eight functions of the C library, and at each of them waits,
# without sleeping, for threads that may be inside: 50 ms if it is not told otherwise. In tests there is hardly another
# thread. With a compiler cache, the first run of tests that compile codecs in a new build folder takes what others have
# compiled; not where a path has a space, because CXX is a list of words.
set(CASYNC_TEST_ENVIRONMENT CASYNC_CACHE_DIR=${CASYNC_TEST_CODECS} UCX_MEM_BISTRO_GRACE_DURATION=10ms)
if(CASYNC_CCACHE AND NOT CMAKE_CROSSCOMPILING AND NOT "${PROJECT_BINARY_DIR}${CMAKE_CXX_COMPILER}" MATCHES " ")
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/codec_cache/texts)
  configure_file(cmake/cached_compiler.in codec_cache/compiler @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  list(APPEND CASYNC_TEST_ENVIRONMENT "CXX=${PROJECT_BINARY_DIR}/codec_cache/compiler ${CMAKE_CXX_COMPILER}")
endif()
# NVRTC is no compiler of the cache's: kernels that it compiles for tests stay beside the cache, where other build folders
# find them, for a month since a test has last taken them.
set(kernels ${CASYNC_TEST_CODECS})
if(CASYNC_CCACHE AND DEFINED ENV{XDG_CACHE_HOME})
  set(kernels $ENV{XDG_CACHE_HOME}/casync-tests)
elseif(CASYNC_CCACHE AND DEFINED ENV{HOME})
  set(kernels $ENV{HOME}/.cache/casync-tests)
endif()
set(CASYNC_TEST_KERNELS ${kernels} CACHE PATH "The folder, of this user alone, where kernels that tests compile stay")
if(BUILD_TESTING AND IS_DIRECTORY ${CASYNC_TEST_KERNELS})
  execute_process(COMMAND find ${CASYNC_TEST_KERNELS} -type f -mtime +30 -atime +30 -delete)
endif()

set(CASYNC_TEST_PATIENCE 1 CACHE STRING "Every C++ test's timeout is multiplied by this: sanitizers make them slow")

# casync_command_test(NAME [WAITS] TIMEOUT seconds LABELS label... COMMAND program [argument...])
# A test of a program that is no Catch2 test: with the environment of all tests, and as for casync_test.
function(casync_command_test name)
  cmake_parse_arguments(ARG "WAITS" "TIMEOUT" "LABELS;COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  math(EXPR timeout "${ARG_TIMEOUT} * ${CASYNC_TEST_PATIENCE}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout} COST ${timeout} SKIP_RETURN_CODE 77
    ENVIRONMENT "${CASYNC_TEST_ENVIRONMENT}")
  if(NOT ARG_WAITS)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

function(casync_test name)
  cmake_parse_arguments(ARG "WAITS" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT TARGET casync_catch_main)
    casync_library(casync_catch_main SOURCES ${PROJECT_SOURCE_DIR}/tests/support/catch_main.cc DEPS Catch2::Catch2)
    target_compile_options(casync_catch_main PRIVATE -O0)
  endif()
  string(REPLACE "." "_" target "test_${name}")
  casync_program(${target} GROUPED SOURCES ${ARG_SOURCES} DEPS casync_catch_main ${ARG_DEPS})
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)  # compiles in four fifths of the time
  if(ARG_WAITS)
    set(waits WAITS)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  casync_command_test(${name} ${waits} TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_LABELS} COMMAND ${target})
endfunction()
