# find_package(tpat) makes tpat::tpat of the shared library and the headers, found from the place of this file.
get_filename_component(_tpat_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET tpat::tpat)
  add_library(tpat::tpat SHARED IMPORTED)
  set_target_properties(tpat::tpat PROPERTIES
    IMPORTED_LOCATION "${_tpat_prefix}/lib/libtpat.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_tpat_prefix}/include")
endif()
unset(_tpat_prefix)
