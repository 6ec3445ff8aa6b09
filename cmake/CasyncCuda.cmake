# SPDX-License-Identifier: Apache-2.0
# CUDA, where there is a compiler for it: CASYNC_WITH_CUDA. A GPU is not needed to build.
#
# casync_cuda_text(OUTPUT SOURCE [PARAMETERS name=value ...]): from a codec's .cll file to its kernels' text in the
# build folder, whose path arrives in OUTPUT.
#
# casync_shipped_kernels(OUTPUT ARCHITECTURE CODEC): from a built-in codec to its compiled kernels in the folder that is
# shipped beside the library, whose path arrives in OUTPUT. NVRTC compiles them, the one that tools/setup has installed
# unless CASYNC_NVRTC names another.
if(CASYNC_WITH_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(CASYNC_NVCC nvcc PATHS /usr/local/cuda/bin)
    # One that refuses this machine's C++ compiler, which may be newer, would end CMake.
    if(CASYNC_NVCC)
      execute_process(COMMAND ${CASYNC_NVCC} -x cu -E /dev/null RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE refusal)
      if(code EQUAL 0)
        set(CMAKE_CUDA_COMPILER ${CASYNC_NVCC})
        set(refusal "")
      else()
        string(STRIP "; ${CASYNC_NVCC} says: ${refusal}" refusal)
      endif()
    endif()
  endif()
  # As cubin for the H100 and H200, and as PTX for what comes after them.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
  endif()
  if(NOT CMAKE_CUDA_COMPILER OR CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
    if(CASYNC_WITH_CUDA STREQUAL "ON")
      message(FATAL_ERROR "CASYNC_WITH_CUDA=ON, but no nvcc of CUDA 12.4 or later was found: put it on the PATH, or set "
        "CUDACXX to its path${refusal}")
    endif()
    message(STATUS "no nvcc of CUDA 12.4 or later was found: built without CUDA (CASYNC_WITH_CUDA=AUTO)${refusal}")
    set(CASYNC_WITH_CUDA OFF)
  else()
    # CMake 3.25 does not know that nvcc has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    if(CASYNC_CCACHE)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CASYNC_CCACHE} CACHE STRING "what runs nvcc")
    endif()
  endif()
endif()

function(casync_cuda_text output source)
  cmake_parse_arguments(ARG "" "" "PARAMETERS" ${ARGN})
  get_filename_component(name ${source} NAME_WE)
  set(text ${CMAKE_CURRENT_BINARY_DIR}/codecs/${name}.cu)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/codecs)
  set(parameters)
  foreach(parameter IN LISTS ARG_PARAMETERS)
    list(APPEND parameters --param ${parameter})
  endforeach()
  add_custom_command(OUTPUT ${text}
    COMMAND compllc ${source} --emit=cuda ${parameters} > ${text}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${text}.new ${text}
    DEPENDS compllc ${source}
    COMMENT "Writing the kernels of the codec ${name}")
  set(${output} ${text} PARENT_SCOPE)
endfunction()

file(GLOB CASYNC_CUDA_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/compll/ops/cuda/*)
list(APPEND CASYNC_CUDA_HEADERS ${PROJECT_SOURCE_DIR}/compll/ops/sizes.h)
function(casync_shipped_kernels output architecture codec)
  set(folder ${PROJECT_BINARY_DIR}/lib/casync/kernels)
  set(file ${folder}/${architecture}/${codec})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E env VIRTUAL_ENV=${CASYNC_VENV_DIR}/plain
      $<TARGET_FILE:casync_ship_kernels> ${folder} ${architecture} ${codec}
    COMMAND ${CMAKE_COMMAND} -E touch ${file}
    DEPENDS casync_ship_kernels casync_compile_kernels ${CASYNC_CUDA_HEADERS}
    COMMENT "Compiling the kernels of the codec ${codec} for ${architecture}")
  set(${output} ${file} PARENT_SCOPE)
endfunction()
