# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the C interface for other programs, and the command. All of it finds its parts
# relative to itself, so an installed tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Whatever else these exported could collide with the same name in a framework's process, where a second fmt or
# protobuf is the rule.
foreach(library IN ITEMS casync casync_planio casync_ucx)
  if(TARGET ${library})
    target_link_options(${library} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/casync.map)
    set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/casync.map)
  endif()
endforeach()

# Libraries of CMAKE_PREFIX_PATH are found where they are; those of the system need no path.
foreach(target IN ITEMS casync casync_planio casync_tool)
  if(TARGET ${target})
    set_property(TARGET ${target} PROPERTY INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endforeach()

if(TARGET casync)
  set_target_properties(casync PROPERTIES INSTALL_RPATH "$ORIGIN")
  # Not FILE_SET: in the tree the header's path is plugins/c_api/casync.h, outside it is <casync.h>.
  install(TARGETS casync LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/plugins/c_api/casync.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/casync)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/casync-config.cmake.in
    ${PROJECT_BINARY_DIR}/casync-config.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/casync-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/casync-config.cmake ${PROJECT_BINARY_DIR}/casync-config-version.cmake
    DESTINATION ${package_dir})
endif()

# What codecs that users write are compiled with: ours, for processors and for GPUs, and Highway's as this build had it.
# See compll/load/headers.h.
set(codec_headers ${CMAKE_INSTALL_LIBDIR}/casync/include)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/compll/ops DESTINATION ${codec_headers}/compll
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(FILES ${PROJECT_SOURCE_DIR}/base/units.h DESTINATION ${codec_headers}/base)
install(DIRECTORY ${CASYNC_HIGHWAY}/hwy DESTINATION ${codec_headers}
  FILES_MATCHING PATTERN "*.h" PATTERN contrib EXCLUDE PATTERN tests EXCLUDE)

# Modules that libcasync loads when they are needed stand beside it. UCX may, too; else it is where it was found.
cmake_path(APPEND ucx_DIR ../.. OUTPUT_VARIABLE ucx_libraries)
cmake_path(NORMAL_PATH ucx_libraries)
foreach(module IN ITEMS casync_planio casync_ucx)
  if(TARGET ${module})
    set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()

if(TARGET casync_ucx)
  set_property(TARGET casync_ucx APPEND PROPERTY INSTALL_RPATH ${ucx_libraries})
endif()

# What NVRTC runs in: see compll/cuda/kernel_compiler.h.
install(TARGETS casync_compile_kernels RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/casync)

# Kernels, if the target shipped_kernels has made them: see compll/cuda/shipped_kernels.h.
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/casync/kernels DESTINATION ${CMAKE_INSTALL_LIBDIR}/casync OPTIONAL)

if(TARGET casync_tool)
  set_target_properties(casync_tool PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS casync_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
