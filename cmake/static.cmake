# cdc_static_executable(kaptanto): with CDC_STATIC, links the program so that the file needs nothing
# of the system it runs on: no loader, no C library, no shared object. Without CDC_STATIC it does
# nothing, so that development and sanitizer builds keep the dynamic C library.
function(cdc_static_executable target)
  if(NOT CDC_STATIC)
    return()
  endif()
  # The guard must be an object of the program itself: from an archive nothing would pull it in.
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/app/link/static_guard.c)
  target_link_libraries(${target} PRIVATE dep::ssl dep::crypto)
  target_link_options(${target} PRIVATE -static-pie -Wl,--strip-all)
endfunction()
