# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD_DIR -D CONSUMER_DIR -D WORK_DIR -D GENERATOR -D LIBDIR -D EXAMPLE_CODEC -P: installs, moves, configures, builds, runs.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nexited with ${code}:\n${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/made_here)
file(RENAME ${WORK_DIR}/made_here ${WORK_DIR}/moved)
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
message("${output}")

# A codec of one's own is compiled with the headers that were installed.
run(${CMAKE_COMMAND} -E env CASYNC_CACHE_DIR=${WORK_DIR}/cache --unset=CASYNC_INCLUDE_DIR
  ${WORK_DIR}/moved/bin/casync codec info ${EXAMPLE_CODEC})

# So would its kernels be, and what NVRTC runs in finds nothing missing: it ends with a code of its own.
execute_process(COMMAND ${WORK_DIR}/moved/${LIBDIR}/casync/compile_kernels RESULT_VARIABLE code ERROR_QUIET)
if(NOT code EQUAL 43)
  message(FATAL_ERROR "compile_kernels without arguments ended with ${code}, expected 43")
endif()
file(GLOB sources RELATIVE ${BUILD_DIR}/lib/casync
  ${BUILD_DIR}/lib/casync/include/compll/ops/cuda/* ${BUILD_DIR}/lib/casync/kernels/*/*)
foreach(file IN LISTS sources)
  if(NOT EXISTS ${WORK_DIR}/moved/${LIBDIR}/casync/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

file(GLOB_RECURSE files ${WORK_DIR}/moved/*.cmake)
foreach(file IN LISTS files)
  file(READ ${file} text)
  if(text MATCHES "made_here")
    message(FATAL_ERROR "${file} names the prefix it was installed to, so the tree cannot be moved")
  endif()
endforeach()
