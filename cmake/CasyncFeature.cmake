# SPDX-License-Identifier: Apache-2.0
# casync_feature(NAME "what it is" AUTO|ON|OFF): the option CASYNC_WITH_<NAME>. AUTO uses what is there; ON and
# absent is an error, and so is any other value; CMake's other words for ON and OFF are these.
function(casync_feature name doc initial)
  set(CASYNC_WITH_${name} ${initial} CACHE STRING "${doc}: AUTO, ON or OFF")
  set_property(CACHE CASYNC_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${CASYNC_WITH_${name}}" value)
  string(REGEX REPLACE "^(1|TRUE|YES|Y)$" "ON" value "${value}")
  string(REGEX REPLACE "^(0|FALSE|NO|N)$" "OFF" value "${value}")
  if(NOT value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "CASYNC_WITH_${name}=${CASYNC_WITH_${name}}: expected AUTO, ON or OFF")
  endif()
  set(CASYNC_WITH_${name} ${value} PARENT_SCOPE)
endfunction()

# casync_feature_package(NAME package): looks for the package of a feature that is AUTO or ON.
macro(casync_feature_package name package)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    if(CASYNC_WITH_${name} STREQUAL "ON")
      message(FATAL_ERROR "CASYNC_WITH_${name}=ON, but the package ${package} was not found: run tools/setup, "
        "or set CMAKE_PREFIX_PATH to where it is")
    endif()
    message(STATUS "${package} not found: built without it (CASYNC_WITH_${name}=AUTO)")
    set(CASYNC_WITH_${name} OFF)
  endif()
endmacro()
