# SPDX-License-Identifier: Apache-2.0
# casync_package(NAME debian-package [find_package arguments ...]): a library that every build needs. The error names the
# versions that were found and do not fit, and ends with `casync_otherwise`.
macro(casync_package name debian)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    set(wanted ${name})
    if("${ARGN}" MATCHES "^[0-9.]+")
      string(APPEND wanted " ${CMAKE_MATCH_0}")
    endif()
    set(unfit "")
    if(${name}_CONSIDERED_VERSIONS)
      string(REPLACE ";" ", " unfit ", only ${${name}_CONSIDERED_VERSIONS}")
    endif()
    message(FATAL_ERROR "${wanted} was not found${unfit}: run tools/setup, or install the package ${debian}, "
      "or set CMAKE_PREFIX_PATH to where it is${casync_otherwise}")
  endif()
endmacro()

casync_package(Threads libc6-dev)
casync_package(fmt libfmt-dev)
casync_package(spdlog libspdlog-dev)
# Since version 22 it links Abseil, which only its own CMake package says. Debian 12 has no such package.
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  casync_package(Protobuf libprotobuf-dev MODULE)
endif()
casync_package(hwy libhwy-dev)
casync_package(CLI11 libcli11-dev)
casync_package(nlohmann_json nlohmann-json3-dev)
if(BUILD_TESTING)
  # From here on, tests alone need a package. Distributions that are newer than Debian 12 have Catch2 3, whose headers have
  # other names.
  set(casync_otherwise ", or build without tests (BUILD_TESTING=OFF)")
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
