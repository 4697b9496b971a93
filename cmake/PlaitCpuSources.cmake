# plait_choose_cpu_sources(<sources> <headers>): removes from the two lists the files that this processor does not
# support or whose library is missing, and sets the compile options of the files of one instruction set.
function(plait_choose_cpu_sources sources headers)
  set(left_out)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    list(APPEND left_out "_portable\\.cpp$")
    set_source_files_properties(plait/cpu/inside/products/product_kernels_avx2.cpp
                                plait/cpu/inside/convolutions/winograd_kernels_avx2.cpp PROPERTIES
                                COMPILE_OPTIONS "-mavx2;-mfma")
    set_source_files_properties(plait/cpu/inside/products/product_kernels_avx512.cpp
                                plait/cpu/inside/convolutions/winograd_kernels_avx512.cpp PROPERTIES
                                COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma")
    # GCC 12 warns that its own intrinsics read uninitialised variables (GCC bug 105593).
    set_source_files_properties(plait/cpu/inside/repeated_products/paired_kernels_avx512.cpp
                                plait/cpu/inside/products/bf16_kernels_avx512.cpp PROPERTIES COMPILE_OPTIONS
      "-Wno-uninitialized;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512bf16;-mfma")
    set_source_files_properties(plait/cpu/inside/products/bf16_kernels_amx.cpp PROPERTIES COMPILE_OPTIONS
      "-Wno-uninitialized;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512bf16;-mamx-tile;-mamx-bf16")
  else()
    list(APPEND left_out "_x86\\.cpp$" "_avx2\\.cpp$" "_avx512\\.cpp$" "_amx\\.cpp$")
  endif()
  if(TARGET plait_onednn)
    list(APPEND left_out "/library_without\\.cpp$")
  else()
    list(APPEND left_out "/onednn_[^/]*$")
  endif()
  if(TARGET plait_llvm)
    list(APPEND left_out "/compiler_without\\.cpp$")
  else()
    list(APPEND left_out "/llvm_[^/]*$")
  endif()
  if(TARGET plait_openblas)
    list(APPEND left_out "/lapack_without\\.cpp$")
  else()
    list(APPEND left_out "/lapack_routines\\.cpp$" "/lapack_functions\\.h$")
  endif()
  list(FILTER ${headers} EXCLUDE REGEX "/llvm_[^/]*$")  # their own headers are not in a standard folder
  foreach(pattern IN LISTS left_out)
    list(FILTER ${sources} EXCLUDE REGEX "${pattern}")
    list(FILTER ${headers} EXCLUDE REGEX "${pattern}")
  endforeach()
  set(${sources} "${${sources}}" PARENT_SCOPE)
  set(${headers} "${${headers}}" PARENT_SCOPE)
endfunction()
