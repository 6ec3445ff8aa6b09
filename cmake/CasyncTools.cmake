# SPDX-License-Identifier: Apache-2.0
# Looks for what the build itself needs, and tells whoever lacks it. Included ahead of project().

# CMake would write its Makefile over ours, and codecs' texts beside the codecs.
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_CURRENT_BINARY_DIR)
  message(FATAL_ERROR "build in a folder of its own, as with cmake --preset dev or cmake -B build/own. In this folder remove "
    "what CMake has left: CMakeCache.txt and CMakeFiles")
endif()

# CMake's own message for a missing compiler does not say what to install.
function(casync_need_compiler language variable package)
  if(CMAKE_${language}_COMPILER OR DEFINED ENV{${variable}})
    return()
  endif()
  find_program(CASYNC_FOUND_${language} NAMES ${ARGN} NO_CACHE)
  if(NOT CASYNC_FOUND_${language})
    message(FATAL_ERROR "no ${language} compiler found: run tools/setup, or install the package ${package}, "
      "or set ${variable} to a compiler's path")
  endif()
endfunction()

casync_need_compiler(CXX CXX g++ c++ g++ clang++)
casync_need_compiler(C CC gcc cc gcc clang)

# A compiled file is compiled once: switching branches or presets back and forth costs a copy.
find_program(CASYNC_CCACHE ccache)
if(CASYNC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CASYNC_CCACHE} CACHE STRING "what runs the C compiler")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CASYNC_CCACHE} CACHE STRING "what runs the C++ compiler")
endif()
