# cmake -DSOURCE=FOLDER -DOUTPUT=FILE.c -P cmake/commit.cmake: writes the commit that is built, and its day, as C. Git says it, "-dirty" if
# tracked files were changed; in an archive of the source `git archive` has written it to cmake/commit.txt; else it is empty.
# It runs with every build and leaves the file alone if nothing changed, so a new commit compiles one small file.
set(commit)
set(date)
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git) # and not some other repository around an unpacked archive
  set(ask ${git} -C ${SOURCE} --no-optional-locks)
  execute_process(COMMAND ${ask} log -1 "--format=%H %cs" OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${ask} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
else()
  file(READ ${SOURCE}/cmake/commit.txt line)
endif()
if(line MATCHES "^([0-9a-f]+) ([0-9-]+)")
  set(date ${CMAKE_MATCH_2})
  string(SUBSTRING ${CMAKE_MATCH_1} 0 7 commit)
  if(changes)
    string(APPEND commit -dirty)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "const char tacho_commit[] = \"${commit}\", tacho_commit_date[] = \"${date}\";\n" @ONLY)
