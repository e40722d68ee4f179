# The timeline page, share/tacho/view/: index.html, page.js and page.css (web/, by Vite), and tacho.wasm[.gz], the reader for
# pages that stand alone (src/, by clang). Where a tool is missing, one line says so and everything else is built without the page.
# Sanitizers would see nothing in it, so their builds leave it out.
if(TACHO_SANITIZE)
  set(TACHO_PAGE_DEFAULT OFF)
else()
  set(TACHO_PAGE_DEFAULT ON)
endif()
option(TACHO_PAGE "Build the timeline page, where its tools are" ${TACHO_PAGE_DEFAULT})

set(page_folder ${CMAKE_BINARY_DIR}/share/tacho/view)
set(web_source ${CMAKE_SOURCE_DIR}/web)
set(web_folder ${CMAKE_BINARY_DIR}/web) # links to the sources, and npm's packages: the source tree stays clean
set(page_missing "")

# ---- Tools. CLANG is the host's own or beside it: what compiles the rest may be gcc or a cross compiler.
if(TACHO_PAGE)
  find_program(NODE node)
  find_program(NPM npm)
  find_program(CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
  find_program(WASM_LD NAMES wasm-ld wasm-ld-19 wasm-ld-18 wasm-ld-17 wasm-ld-16 wasm-ld-15 wasm-ld-14)
  mark_as_advanced(NODE NPM CLANG WASM_LD)
  foreach(tool NODE NPM CLANG WASM_LD)
    if(NOT ${tool})
      string(TOLOWER ${tool} name)
      string(REPLACE "_" "-" name ${name})
      list(APPEND page_missing ${name})
    endif()
  endforeach()
  if(NODE)
    execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(node_version VERSION_LESS "v18")
      list(APPEND page_missing "node 18 or later (here is ${node_version})")
    endif()
  endif()
  if(CLANG AND WASM_LD)
    file(WRITE ${web_folder}/probe.c "#include <stdlib.h>\n__int128 probe(__int128 n, char *text) { return n / atoi(text); }\n")
    execute_process(COMMAND ${CLANG} --target=wasm32-wasi -mexec-model=reactor -Wl,--export=probe probe.c -o probe.wasm
      WORKING_DIRECTORY ${web_folder} RESULT_VARIABLE probed OUTPUT_QUIET ERROR_QUIET)
    if(NOT probed EQUAL 0)
      list(APPEND page_missing "wasi-libc or libclang-rt-dev-wasm32")
    endif()
  endif()
else()
  set(page_missing "TACHO_PAGE")
endif()

# ---- npm's packages, fetched once for each state of the lock file. No script of theirs is run.
if(NOT page_missing)
  foreach(name src index.html vite.config.ts tsconfig.json)
    file(CREATE_LINK ${web_source}/${name} ${web_folder}/${name} SYMBOLIC)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web_source}/package.json ${web_source}/package-lock.json)
  file(SHA256 ${web_source}/package-lock.json lock_now)
  set(lock_stamp ${web_folder}/node_modules/.tacho-lock)
  set(lock_before "")
  if(EXISTS ${lock_stamp})
    file(READ ${lock_stamp} lock_before)
  endif()
  if(NOT lock_now STREQUAL lock_before)
    message(STATUS "Fetching the packages of the timeline page")
    file(COPY ${web_source}/package.json ${web_source}/package-lock.json ${web_source}/.npmrc DESTINATION ${web_folder})
    execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY ${web_folder}
      RESULT_VARIABLE fetched OUTPUT_VARIABLE words ERROR_VARIABLE words)
    if(fetched EQUAL 0)
      file(WRITE ${lock_stamp} ${lock_now})
    else()
      file(WRITE ${web_folder}/npm.log "${words}")
      list(APPEND page_missing "npm's packages (npm ci failed, see web/npm.log in the build folder)")
    endif()
  endif()
endif()

if(page_missing)
  if(TACHO_PAGE)
    list(JOIN page_missing ", " words)
    message(STATUS "The timeline page is not built; missing: ${words}")
  endif()
  return()
endif()

# ---- page.js, page.css, index.html
file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${web_source}/src/*)
add_custom_command(
  OUTPUT ${page_folder}/index.html ${page_folder}/page.js ${page_folder}/page.css
  COMMAND ${NODE} node_modules/vite/bin/vite.js build --logLevel warn --outDir ${page_folder}
  WORKING_DIRECTORY ${web_folder}
  DEPENDS ${page_sources} ${web_source}/index.html ${web_source}/vite.config.ts ${lock_stamp}
  COMMENT "Building the timeline page")

# ---- tacho.wasm: what of src/ a page needs, for one thread, with SQLite inside. src/wasm has what the system lacks there and the
# files that take the place of others: those that use threads, a disk or zstd's library.
set(wasm_folder ${CMAKE_BINARY_DIR}/wasm)
set(sqlite_folder ${web_folder}/node_modules/better-sqlite3/deps/sqlite3) # npm's package is the carrier of SQLite's source
file(GLOB_RECURSE wasm_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.c ${CMAKE_SOURCE_DIR}/src/report/*.c
  ${CMAKE_SOURCE_DIR}/src/query/*.c ${CMAKE_SOURCE_DIR}/src/import/*.c ${CMAKE_SOURCE_DIR}/src/analyze/*.c
  ${CMAKE_SOURCE_DIR}/src/view/*.c ${CMAKE_SOURCE_DIR}/src/abi/cuda_errors.c ${CMAKE_SOURCE_DIR}/src/abi/counters/*.c ${CMAKE_SOURCE_DIR}/src/wasm/*.c)
list(FILTER wasm_sources EXCLUDE REGEX "/src/(base/(install_place|parallel|newfile)|report/(reader/(file_host|report_api)|writer/(append_file|append_partials|merge_report|recover)))\\.c$")
find_path(xxhash_folder xxhash.h REQUIRED)
file(COPY ${xxhash_folder}/xxhash.h DESTINATION ${wasm_folder}/include) # alone: the host's other headers are not for WebAssembly
# -fno-finite-loops: LLVM 14 takes away the guard before a loop that would not end without it, where sizes are of 32 bits.
set(wasm_common --target=wasm32-wasi -fno-finite-loops)
set(wasm_flags ${wasm_common} -std=gnu11 $<IF:$<BOOL:${TACHO_DRAFT}>,-O0,-O2> -D_GNU_SOURCE -DTACHO_VERSION="${PROJECT_VERSION}"
  -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end
  -iquote ${CMAKE_SOURCE_DIR}/src -isystem ${CMAKE_SOURCE_DIR}/src/wasm/include -include lacking.h -isystem ${sqlite_folder} -isystem ${wasm_folder}/include
  $<$<BOOL:${TACHO_WERROR}>:-Werror>)
# Without what needs a disk or threads; the functions are those that Debian's has too.
set(sqlite_flags ${wasm_common} $<IF:$<BOOL:${TACHO_DRAFT}>,-O0,-Oz> -w -DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -DSQLITE_MAX_MMAP_SIZE=0
  -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_DEPRECATED -DSQLITE_OMIT_SHARED_CACHE
  -DSQLITE_ENABLE_MATH_FUNCTIONS)

# tacho_wasm_object(source flag…): compiles one file and adds it to wasm_objects.
function(tacho_wasm_object source)
  string(REPLACE "${CMAKE_SOURCE_DIR}/src/" "" name ${source})
  string(REPLACE "${wasm_folder}/" "" name ${name})
  string(REGEX REPLACE "[^A-Za-z0-9_.]" "_" name ${name})
  if(source MATCHES "/sqlite3\\.c$")
    set(name sqlite3.c)
  endif()
  set(object ${wasm_folder}/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${CLANG} ${ARGN} -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Compiling ${name} for the page")
  set(wasm_objects ${wasm_objects} ${object} PARENT_SCOPE)
endfunction()

set(wasm_objects)
tacho_wasm_object(${sqlite_folder}/sqlite3.c ${sqlite_flags})
if(TACHO_DRAFT)
  list(APPEND wasm_flags -Wno-shadow)
  foreach(module report query import analyze view)
    set(sources ${wasm_sources})
    list(FILTER sources INCLUDE REGEX "/src/${module}/")
    list(REMOVE_ITEM wasm_sources ${sources})
    tacho_batches(${sources})
    foreach(source batch IN ZIP_LISTS sources batches)
      string(APPEND ${module}_batch_${batch} "#include \"${source}\"\n")
    endforeach()
    list(REMOVE_DUPLICATES batches)
    foreach(batch ${batches})
      set(source ${wasm_folder}/${module}_${batch}.c)
      file(CONFIGURE OUTPUT ${source} CONTENT "${${module}_batch_${batch}}" @ONLY)
      list(APPEND wasm_sources ${source})
    endforeach()
  endforeach()
endif()
foreach(source ${wasm_sources})
  tacho_wasm_object(${source} ${wasm_flags})
endforeach()
add_custom_command(
  OUTPUT ${page_folder}/tacho.wasm
  COMMAND ${CLANG} --target=wasm32-wasi -mexec-model=reactor -O2 -Wl,--strip-all,--stack-first,-z,stack-size=4194304,--max-memory=4294967296
    -o ${page_folder}/tacho.wasm ${wasm_objects}
  DEPENDS ${wasm_objects}
  COMMENT "Linking tacho.wasm")
add_custom_command( # for HTML files, which hold it
  OUTPUT ${page_folder}/tacho.wasm.gz
  COMMAND ${NODE} ${web_source}/gzip.mjs ${page_folder}/tacho.wasm
  DEPENDS ${page_folder}/tacho.wasm ${web_source}/gzip.mjs
  COMMENT "Packing tacho.wasm")

add_custom_target(tacho_page ALL DEPENDS ${page_folder}/index.html ${page_folder}/tacho.wasm.gz)
install(DIRECTORY ${page_folder} DESTINATION share/tacho)
