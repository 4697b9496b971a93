# `cmake --install`: the library, its headers in their folders, the tools, a CMake package, plait.pc. Installed files
# do not contain the install prefix, so the tree is relocatable.
include(CMakePackageConfigHelpers)

set(PLAIT_CMAKE_FOLDER "${CMAKE_INSTALL_LIBDIR}/cmake/Plait")
install(TARGETS plait EXPORT PlaitTargets FILE_SET HEADERS)
if(PLAIT_TOOL_TARGETS)
  # An installed tool finds the shared library in the same tree.
  file(RELATIVE_PATH to_library "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(${PLAIT_TOOL_TARGETS} PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
  install(TARGETS ${PLAIT_TOOL_TARGETS})
endif()
if(PLAIT_CARRIED)
  plait_carried_headers(fmt fmt_headers)
  install(DIRECTORY "${fmt_headers}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/plait/carried")
endif()

install(EXPORT PlaitTargets NAMESPACE plait:: DESTINATION "${PLAIT_CMAKE_FOLDER}")
get_target_property(library_type plait TYPE)
set(PLAIT_NEEDS_LIBDW FALSE)
if(TARGET PkgConfig::LIBDW AND library_type STREQUAL "STATIC_LIBRARY")
  set(PLAIT_NEEDS_LIBDW TRUE)
endif()
set(PLAIT_NEEDS_ZLIB FALSE)
if(TARGET ZLIB::ZLIB AND library_type STREQUAL "STATIC_LIBRARY")
  set(PLAIT_NEEDS_ZLIB TRUE)
endif()
configure_package_config_file(cmake/PlaitConfig.cmake.in "${PROJECT_BINARY_DIR}/PlaitConfig.cmake"
                              INSTALL_DESTINATION "${PLAIT_CMAKE_FOLDER}"
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/PlaitConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/PlaitConfig.cmake"
              "${PROJECT_BINARY_DIR}/PlaitConfigVersion.cmake"
        DESTINATION "${PLAIT_CMAKE_FOLDER}")

# plait.pc: the private dependencies of a static library are public dependencies of its users.
file(RELATIVE_PATH PLAIT_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" PLAIT_PC_PREFIX "${PLAIT_PC_PREFIX}")
set(requirements)
set(PLAIT_PC_CFLAGS "-I\${includedir}")
set(PLAIT_PC_LIBS "-L\${libdir} -lplait -pthread")
if(PLAIT_CARRIED)
  string(APPEND PLAIT_PC_CFLAGS " -I\${includedir}/plait/carried -DFMT_HEADER_ONLY=1")
else()
  list(APPEND requirements "fmt >= 9")
endif()
if(PLAIT_NEEDS_LIBDW)
  list(APPEND requirements libdw)
endif()
if(TARGET plait_openblas AND library_type STREQUAL "STATIC_LIBRARY")
  string(APPEND PLAIT_PC_LIBS " -lopenblas")
endif()
if(PLAIT_NEEDS_ZLIB)
  list(APPEND requirements zlib)
endif()
if(CMAKE_DL_LIBS)
  string(APPEND PLAIT_PC_LIBS " -l${CMAKE_DL_LIBS}")
endif()
list(JOIN requirements ", " PLAIT_PC_REQUIRES)
configure_file(cmake/plait.pc.in "${PROJECT_BINARY_DIR}/plait.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/plait.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
