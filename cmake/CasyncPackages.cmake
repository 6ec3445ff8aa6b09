# SPDX-License-Identifier: Apache-2.0
# casync_package(NAME debian-package [find_package arguments ...]): a library that every build needs.
macro(casync_package name debian)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found: run tools/setup, or install the package ${debian}, "
      "or set CMAKE_PREFIX_PATH to where it is")
  endif()
endmacro()

casync_package(Threads libc6-dev)
casync_package(fmt libfmt-dev)
casync_package(spdlog libspdlog-dev)
casync_package(Protobuf libprotobuf-dev)
casync_package(hwy libhwy-dev)
casync_package(CLI11 libcli11-dev)
casync_package(nlohmann_json nlohmann-json3-dev)
if(BUILD_TESTING)
  casync_package(Catch2 catch2 2.13)
endif()

# Where its headers are: codecs that users write are compiled with them.
find_path(CASYNC_HIGHWAY hwy/highway.h)
if(NOT CASYNC_HIGHWAY)
  message(FATAL_ERROR "hwy/highway.h was not found: set CASYNC_HIGHWAY to the folder that has it")
endif()

# Only a header, and no CMake package in Debian.
find_path(CASYNC_XXHASH xxhash.h)
if(NOT CASYNC_XXHASH)
  message(FATAL_ERROR "xxhash.h was not found: run tools/setup, or install the package libxxhash-dev")
endif()

# The static library, so that no other copy in a framework's process takes its place. It has no CMake package.
find_library(CASYNC_SODIUM NAMES libsodium.a sodium)
find_path(CASYNC_SODIUM_INCLUDE sodium.h)
if(NOT CASYNC_SODIUM OR NOT CASYNC_SODIUM_INCLUDE)
  message(FATAL_ERROR "libsodium was not found: run tools/setup, or install the package libsodium-dev")
endif()
add_library(casync::sodium UNKNOWN IMPORTED)
set_target_properties(casync::sodium PROPERTIES
  IMPORTED_LOCATION ${CASYNC_SODIUM} INTERFACE_INCLUDE_DIRECTORIES ${CASYNC_SODIUM_INCLUDE})
