# tacho_module(name [SEES module…] [LIBRARIES library…]): a folder under src/, every .c in it, as a static library
# tacho_<name> with what it may see. A folder without sources is an empty library, so that the list stands complete.
function(tacho_module name)
  cmake_parse_arguments(module "" "" "SEES;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "/(main|static)\\.c$") # the program's, not the library's
  if(sources)
    add_library(tacho_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(tacho_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  list(TRANSFORM module_SEES PREPEND tacho_)
  target_link_libraries(tacho_${name} ${scope} ${module_SEES})
  if(sources)
    target_link_libraries(tacho_${name} ${scope} ${module_LIBRARIES})
  endif()
endfunction()
