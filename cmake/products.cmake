# The products. Each appears once its sources are there.

# ---- bin/tacho: fully static, so that it runs on any Linux of its architecture. Sanitizers cannot be linked statically.
file(GLOB main_source CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/main/main.c)
if(main_source)
  set(commit_source ${CMAKE_BINARY_DIR}/commit.c)
  add_custom_target(tacho_commit BYPRODUCTS ${commit_source}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${commit_source} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake)
  add_executable(tacho ${main_source} ${commit_source})
  add_dependencies(tacho tacho_commit)
  target_link_libraries(tacho PRIVATE tacho_compat)
  if(NOT TACHO_SANITIZE)
    target_sources(tacho PRIVATE src/main/program_static.c src/symbols/names/elfutils_static.c)
    target_link_options(tacho PRIVATE -static
      -Wl,--wrap=dlopen,--wrap=getaddrinfo,--wrap=getnameinfo,--wrap=getprotobynumber,--wrap=getservbyname)
  endif()
  install(TARGETS tacho RUNTIME DESTINATION bin)
endif()

# ---- The shared libraries are never sanitized: a sanitized build can use those of a plain one.
file(GLOB_RECURSE agent_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/*.c)
list(FILTER agent_sources EXCLUDE REGEX "/(stubs|nccl_plugin|openacc_tool|heap_hooks)/") # libraries of their own
if(TACHO_PLAIN_BUILD)
  file(CREATE_LINK ${TACHO_PLAIN_BUILD}/lib ${CMAKE_BINARY_DIR}/lib SYMBOLIC)
  return()
endif()

# ---- Stand-ins for glibc 2.28, to link our shared libraries against: see glibc-2.28.symbols.
set(glibc_table ${CMAKE_SOURCE_DIR}/cmake/glibc-2.28.symbols)
set(glibc_stubs ${CMAKE_BINARY_DIR}/glibc-2.28/all)
set(compiler ${CMAKE_C_COMPILER})
if(CMAKE_C_COMPILER_TARGET)
  list(APPEND compiler --target=${CMAKE_C_COMPILER_TARGET})
endif()
add_custom_command(
  OUTPUT ${glibc_stubs}
  COMMAND ${CMAKE_SOURCE_DIR}/cmake/make-stubs ${glibc_table} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_BINARY_DIR}/glibc-2.28 ${compiler}
  DEPENDS ${glibc_table} ${CMAKE_SOURCE_DIR}/cmake/make-stubs
  COMMENT "Making the stand-ins for glibc 2.28")
add_custom_target(glibc_stubs DEPENDS ${glibc_stubs})

# tacho_for_old_glibc(target [archive…]): links a shared library, with these archives inside, so that it needs glibc 2.28
# and nothing else. A sanitizer's runtime would be one thing more, so its flags are taken back.
function(tacho_for_old_glibc target)
  add_dependencies(${target} glibc_stubs)
  target_compile_options(${target} PRIVATE -fno-stack-protector -U_FORTIFY_SOURCE)
  if(TACHO_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  target_link_options(${target} PRIVATE -nostdlib -Wl,-z,defs,-z,now,-z,noexecstack,--as-needed,--hash-style=gnu,--exclude-libs,ALL)
  target_link_libraries(${target} PRIVATE ${ARGN} -Wl,${glibc_stubs} gcc)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${glibc_table})
  add_custom_command(
    TARGET ${target} PRE_LINK
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/check-imports ${glibc_table} ${CMAKE_NM} ${compiler} -- $<TARGET_OBJECTS:${target}> ${ARGN}
    COMMAND_EXPAND_LISTS)
endfunction()

# ---- lib/tacho/libtacho-agent.so: the guest. It allocates nothing and needs libc alone.
file(GLOB agent_abi_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/abi/*.c)
list(FILTER agent_abi_sources EXCLUDE REGEX "/(cuda_errors|nvml_results)\\.c$") # texts that only the view and messages show
list(APPEND agent_abi_sources ${CMAKE_SOURCE_DIR}/src/abi/counters/name_pattern.c)
if(agent_sources)
  add_library(tacho-agent SHARED ${agent_sources} ${agent_abi_sources})
  target_compile_options(tacho-agent PRIVATE -O2 -fexceptions -ftls-model=initial-exec -fno-semantic-interposition)
  # Hooks run on the stacks of coroutines and handlers, which may have a few kilobytes: large buffers go elsewhere
  # (agent_scratch_take()). Not so in these files: what looks at a program that exec is given (where a vfork's child has nothing but
  # its stack), and what only cuInit(), which needs far more itself, or our own thread calls.
  target_compile_options(tacho-agent PRIVATE -Wframe-larger-than=768)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/agent/cuda/cupti_library.c ${CMAKE_SOURCE_DIR}/src/agent/cuda/cuda_thread.c ${CMAKE_SOURCE_DIR}/src/abi/cupti_layout.c
    ${CMAKE_SOURCE_DIR}/src/agent/osrt/exec_image.c APPEND PROPERTY COMPILE_OPTIONS -Wframe-larger-than=8448)
  target_link_options(tacho-agent PRIVATE -Wl,-z,nodelete)
  set(agent_versions ${CMAKE_SOURCE_DIR}/src/agent/osrt/versions.${CMAKE_SYSTEM_PROCESSOR}.map)
  if(EXISTS ${agent_versions}) # where glibc has functions in several versions, so do the hooks
    target_link_options(tacho-agent PRIVATE -Wl,--version-script=${agent_versions})
    set_property(TARGET tacho-agent APPEND PROPERTY LINK_DEPENDS ${agent_versions})
  endif()
  tacho_for_old_glibc(tacho-agent)
  install(TARGETS tacho-agent LIBRARY DESTINATION lib/tacho)
endif()

# ---- lib/tacho/libtacho-NAME.so: interpose the functions of other libraries; each is preloaded only when asked for (src/agent/stubs).
# tacho_stub_object(name [WORDS] [HIDDEN] [VERSIONS]). WORDS: its stubs hand the words of a call to the agent. HIDDEN: they have a
# hidden version. VERSIONS: some have versions that NAME_versions.map names.
function(tacho_stub_object name)
  cmake_parse_arguments(PARSE_ARGV 1 stubs "WORDS;HIDDEN;VERSIONS" "" "")
  set(folder ${CMAKE_SOURCE_DIR}/src/agent/stubs)
  set(folders ${folder} ${folder}/${name})
  if(stubs_WORDS)
    list(APPEND folders ${folder}/words)
  endif()
  set(own_sources)
  foreach(from ${folders})
    file(GLOB found CONFIGURE_DEPENDS ${from}/*.c ${from}/*.S)
    list(APPEND own_sources ${found})
  endforeach()
  file(GLOB lists CONFIGURE_DEPENDS ${folder}/${name}/*.calls ${folder}/${name}/*.def ${CMAKE_SOURCE_DIR}/src/wire/*.def)
  add_library(tacho-${name} SHARED ${own_sources} ${CMAKE_SOURCE_DIR}/src/agent/core/elf_lookup.c ${CMAKE_SOURCE_DIR}/src/agent/core/object_extent.c)
  file(GLOB with_lists CONFIGURE_DEPENDS ${folder}/${name}/*.S)
  set_source_files_properties(${with_lists} PROPERTIES OBJECT_DEPENDS "${lists};${folder}/stub_rows.h")
  target_compile_options(tacho-${name} PRIVATE -fexceptions -fno-semantic-interposition)
  target_link_options(tacho-${name} PRIVATE -Wl,-z,nodelete)
  set(map)
  if(stubs_HIDDEN)
    set(map ${folder}/stub_hidden.map)
  elseif(stubs_VERSIONS)
    set(map ${folder}/${name}/${name}_versions.map)
  endif()
  if(map)
    target_link_options(tacho-${name} PRIVATE -Wl,--version-script=${map})
    set_property(TARGET tacho-${name} APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
  tacho_for_old_glibc(tacho-${name})
  install(TARGETS tacho-${name} LIBRARY DESTINATION lib/tacho)
endfunction()
if(agent_sources)
  tacho_stub_object(libraries) # cuBLAS and its like
  tacho_stub_object(openmp WORDS VERSIONS) # libgomp, and OMPT's entry point
  tacho_stub_object(mpi WORDS HIDDEN)
  tacho_stub_object(ucx WORDS HIDDEN)
  tacho_stub_object(oshmem WORDS HIDDEN)
endif()

# ---- lib/tacho/libtacho-nccl.so: the profiler plugin that NCCL loads, if it is asked for.
add_library(tacho-nccl SHARED ${CMAKE_SOURCE_DIR}/src/agent/nccl_plugin/nccl_plugin.c ${CMAKE_SOURCE_DIR}/src/abi/nccl/nccl_profiler.c)
target_compile_options(tacho-nccl PRIVATE -fno-semantic-interposition)
target_link_options(tacho-nccl PRIVATE -Wl,-z,nodelete)
tacho_for_old_glibc(tacho-nccl)
install(TARGETS tacho-nccl LIBRARY DESTINATION lib/tacho)

# ---- lib/tacho/libtacho-heap.so: interposes malloc() and its like; preloaded only for -t heap.
add_library(tacho-heap SHARED ${CMAKE_SOURCE_DIR}/src/agent/heap_hooks/heap_hooks.c ${CMAKE_SOURCE_DIR}/src/agent/core/elf_lookup.c)
target_compile_options(tacho-heap PRIVATE -O2 -fno-builtin -fno-semantic-interposition)
target_link_options(tacho-heap PRIVATE -Wl,-z,nodelete)
tacho_for_old_glibc(tacho-heap)
install(TARGETS tacho-heap LIBRARY DESTINATION lib/tacho)

# ---- lib/tacho/libtacho-openacc.so: what OpenACC runtimes load by ACC_PROFLIB, to find the agent.
file(GLOB openacc_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/openacc_tool/*.c)
if(openacc_sources)
  add_library(tacho-openacc SHARED ${openacc_sources})
  target_link_options(tacho-openacc PRIVATE -Wl,-z,nodelete)
  tacho_for_old_glibc(tacho-openacc)
  install(TARGETS tacho-openacc LIBRARY DESTINATION lib/tacho)
endif()

# ---- lib/tacho/tacho-gpu: a program that loads NVML and CUPTI, which bin/tacho cannot. The start file of today's glibc works on 2.28:
# what it leaves to libc there is to run constructors of the program, and it has none.
file(GLOB_RECURSE gpu_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/gpu/*.c)
file(GLOB_RECURSE gpu_ground_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.c ${CMAKE_SOURCE_DIR}/src/abi/*.c)
list(FILTER gpu_ground_sources EXCLUDE REGEX "/newfile\\.c$") # it calls stat(), which 2.28 had under another name
if(gpu_sources)
  execute_process(COMMAND ${compiler} -print-file-name=Scrt1.o OUTPUT_VARIABLE start_file OUTPUT_STRIP_TRAILING_WHITESPACE)
  add_executable(tacho-gpu ${gpu_sources} ${gpu_ground_sources})
  set_target_properties(tacho-gpu PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tacho)
  target_compile_options(tacho-gpu PRIVATE -fPIC -ffunction-sections -ftls-model=initial-exec) # PIC: no copy relocations of libc's data
  target_link_options(tacho-gpu PRIVATE -pie -Wl,--gc-sections)
  find_library(xxhash_archive libxxhash.a REQUIRED)
  tacho_for_old_glibc(tacho-gpu ${start_file} ${xxhash_archive})
  install(TARGETS tacho-gpu RUNTIME DESTINATION lib/tacho)
endif()

# ---- lib/libtacho.so: the public API, where linkers look. The reader inside it is the one of src/report.
file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/libtacho/*.c)
if(api_sources)
  file(GLOB_RECURSE api_reader_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.c ${CMAKE_SOURCE_DIR}/src/report/*.c)
  add_library(libtacho SHARED ${api_sources} ${api_reader_sources})
  set_target_properties(libtacho PROPERTIES OUTPUT_NAME tacho SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_compile_options(libtacho PRIVATE -ftls-model=initial-exec) # a pointer a thread; else ld.so's __tls_get_addr would be imported
  find_library(zstd_archive libzstd.a REQUIRED)
  find_library(xxhash_archive libxxhash.a REQUIRED)
  tacho_for_old_glibc(libtacho ${zstd_archive} ${xxhash_archive})
  install(TARGETS libtacho LIBRARY DESTINATION lib)
  configure_file(cmake/tacho.pc.in tacho.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/tacho.pc DESTINATION lib/pkgconfig)
endif()

# ---- share/: the program prints its own manual pages and completion scripts.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(share ${CMAKE_BINARY_DIR}/share)
  add_custom_command(
    OUTPUT ${share}/man/man1/tacho.1
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/share-files ${share} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tacho>
    DEPENDS tacho ${CMAKE_SOURCE_DIR}/cmake/share-files
    COMMENT "Making manual pages and completion scripts")
  add_custom_target(tacho_share ALL DEPENDS ${share}/man/man1/tacho.1)
  install(DIRECTORY ${share}/man ${share}/bash-completion ${share}/zsh ${share}/fish DESTINATION share)
else()
  message(WARNING "No manual pages and no completion: qemu-user, which would run the program on this machine, is not installed")
endif()

# ---- lib/tacho/python: the package `tacho`, and what Python programs under `tacho profile` find first. Nothing is built.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tacho)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/lib/tacho/python SYMBOLIC)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/tacho ${CMAKE_SOURCE_DIR}/python/site DESTINATION lib/tacho/python
  PATTERN __pycache__ EXCLUDE)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tacho DESTINATION include)
install(FILES LICENSE NOTICE DESTINATION share/tacho)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs ${CMAKE_SOURCE_DIR}/examples DESTINATION share/tacho PATTERN *.md EXCLUDE)
install(CODE "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/cmake/install-pages ${CMAKE_SOURCE_DIR} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/tacho
  COMMAND_ERROR_IS_FATAL ANY)")
