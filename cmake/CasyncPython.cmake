# SPDX-License-Identifier: Apache-2.0
# CASYNC_FRAMEWORKS: the frameworks that have a plugin, which are the folders of the Python package.
#
# casync_python_test(NAME script... ENVIRONMENT <framework>|plain|docs LABELS ... [ARGS ...] [IMPORTS module...]
#                    [TIMEOUT seconds] [WAITS])
# The only way a Python test is made: one CTest entry that runs `script` with the Python of .venv/<ENVIRONMENT>
# and the package staged in <build>/python. Files test_*.py run under one pytest, so that they import a framework once;
# any other is a program (exit 77 skips). IMPORTS: modules that pytest and its ranks have imported together, ahead of the
# files. `plain` has numpy and nothing of a framework. All carry the label `python`. Without the environment, or with
# CASYNC_WITH_FRAMEWORKS=OFF for a framework's (CASYNC_WITH_TENSORFLOW=OFF for that one alone), the test is left out and a
# STATUS line says so. WAITS: as for casync_test. ENVIRONMENT <framework>_newest with IMPORTS runs only the first case of
# each test that has parameters. No build fails without that environment: tools/setup goes on without it, too.
casync_feature(FRAMEWORKS "tests with deep learning frameworks (.venv/<framework>: tools/setup makes them)" AUTO)
file(GLOB CASYNC_FRAMEWORKS RELATIVE ${PROJECT_SOURCE_DIR}/plugins/python/casync CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/plugins/python/casync/*/__init__.py)
list(TRANSFORM CASYNC_FRAMEWORKS REPLACE "/__init__.py$" "")
foreach(framework IN LISTS CASYNC_FRAMEWORKS)
  string(TOUPPER ${framework} feature)
  casync_feature(${feature} "tests with .venv/${framework}, and the plugin compiled against it" AUTO)
endforeach()
set(CASYNC_VENV_DIR ${PROJECT_SOURCE_DIR}/.venv CACHE PATH "Folder of the virtual environments that tools/setup makes")

# Compiled modules lie in the build folder, not beside the sources. Without them a process imports PyTorch in eight
# seconds instead of three. Modules of the folder for temporary files are compiled once and never read again, such as
# those that TensorFlow's autograph writes for each function: casync.python.bytecode removes them behind the tests.
set(CASYNC_PYTHON_BYTECODE PYTHONPYCACHEPREFIX=${PROJECT_BINARY_DIR}/python_bytecode)

# Sets `result` to the environment's Python, or to "" when tests of it cannot run here.
function(casync_python_environment result environment)
  set(python ${CASYNC_VENV_DIR}/${environment}/bin/python)
  set(${result} "" PARENT_SCOPE)
  if(environment STREQUAL "docs")  # an extra that nothing else needs
    if(EXISTS ${python})
      set(${result} ${python} PARENT_SCOPE)
    endif()
    return()
  endif()
  set(feature FRAMEWORKS)
  string(REGEX REPLACE "_newest$" "" framework ${environment})
  if(NOT environment STREQUAL "plain")
    string(TOUPPER ${framework} feature)
    if(CASYNC_WITH_FRAMEWORKS STREQUAL "OFF" OR CASYNC_WITH_${feature} STREQUAL "OFF")
      return()
    endif()
  endif()
  if(EXISTS ${python})
    set(${result} ${python} PARENT_SCOPE)
  elseif(environment STREQUAL framework AND
      (CASYNC_WITH_FRAMEWORKS STREQUAL "ON" OR CASYNC_WITH_${feature} STREQUAL "ON"))
    message(FATAL_ERROR "CASYNC_WITH_FRAMEWORKS or CASYNC_WITH_${feature} is ON, but ${python} is not there: run tools/setup")
  endif()
endfunction()

function(casync_python_test name)
  cmake_parse_arguments(ARG "WAITS" "TIMEOUT;ENVIRONMENT" "LABELS;ARGS;IMPORTS" ${ARGN})
  set(scripts)
  foreach(script IN LISTS ARG_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(NOT EXISTS ${script})
      message(FATAL_ERROR "test ${name}: ${script} is not there")
    endif()
    cmake_path(GET script FILENAME file)
    list(APPEND scripts ${script})
  endforeach()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(codecs ${CASYNC_TEST_ENVIRONMENT})
  if(ARG_LABELS MATCHES "lint|install")  # these run CMake, whose compiler CXX would be
    list(FILTER codecs EXCLUDE REGEX "^CXX=")
  endif()
  casync_python_environment(python ${ARG_ENVIRONMENT})
  if(NOT python)
    message(STATUS "test ${name} left out: no Python environment ${ARG_ENVIRONMENT} (tools/setup makes it)")
    return()
  endif()
  set(runner ${python})
  if(file MATCHES "^test_.*\\.py$")
    if(ARG_IMPORTS)
      list(APPEND runner ${PROJECT_SOURCE_DIR}/tests/plugins/pytest_forking.py)
      if(ARG_ENVIRONMENT MATCHES "_newest$")
        list(APPEND runner --first-of-each)
      endif()
      list(APPEND runner ${ARG_IMPORTS} --)
    else()
      list(APPEND runner -m pytest)
    endif()
    list(APPEND runner -q -p no:cacheprovider)
  endif()
  add_test(NAME ${name} COMMAND ${runner} ${scripts} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS "python;${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED casync_python_bytecode
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;${CASYNC_PYTHON_BYTECODE};${codecs}"
    ENVIRONMENT_MODIFICATION PYTHONDONTWRITEBYTECODE=unset:)
  if(NOT ARG_WAITS)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()
