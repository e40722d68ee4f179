# Cross-building for x86_64 with Debian's compiler; scripts/dist unpacks the libraries into TACHO_SYSROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TACHO_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${TACHO_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
set(CMAKE_C_FLAGS_INIT "-idirafter ${TACHO_SYSROOT}/usr/include -idirafter ${TACHO_SYSROOT}/usr/include/x86_64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${TACHO_SYSROOT}/usr/lib/x86_64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-L${TACHO_SYSROOT}/usr/lib/x86_64-linux-gnu")
find_program(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64) # for the manual pages, which the program prints
