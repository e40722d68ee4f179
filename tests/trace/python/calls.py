"""Makes calls that take long, from lines with a remark that says which stacks they are part of. A stack is known by the microseconds
that it sleeps. With the path of a folder that has CUDA in it, also waits for a GPU there."""
import ctypes
import os
import sys
import threading

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def nap(microseconds):
    libc.usleep(microseconds)                            # in: 2001 2003 2004 2005 2006


class Worker:
    def run(self):
        nap(2001)                                        # in: 2001


@COMPARE
def compare(a, b):
    libc.usleep(2002)                                    # in: 2002
    return 0


def sort():
    libc.qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)  # in: 2002


def generate():
    nap(2003)                                            # in: 2003
    yield 1


def consume():
    return sorted(generate(), key=lambda item: item)     # in: 2003


def descend(depth):
    return descend(depth - 1) if depth else nap(2004)    # in: 2004 2004 2004 2004


def in_thread():
    nap(2005)                                            # in: 2005


def in_child():
    child = os.fork()
    if child == 0:
        nap(2006)                                        # in: 2006
        os._exit(0)
    os.waitpid(child, 0)


def wait_for_gpu(folder):
    driver = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    runtime = ctypes.CDLL(os.path.join(folder, "libcudart.so.13"), mode=ctypes.RTLD_GLOBAL)
    dim3 = type("dim3", (ctypes.Structure,), {"_fields_": [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]})
    driver.fake_kernel.restype = ctypes.c_void_p
    runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, dim3, dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    for i in range(3):
        runtime.cudaLaunchKernel(driver.fake_kernel(b"kernel"), dim3(1, 1, 1), dim3(32, 1, 1), None, 0, None)
        runtime.cudaDeviceSynchronize()                  # in: gpu
        libc.usleep(2007)                                # in: 2007


def main():
    Worker().run()                                       # in: 2001
    sort()                                               # in: 2002
    consume()                                            # in: 2003
    descend(3)                                           # in: 2004
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    in_child()                                           # in: 2006
    if len(sys.argv) > 1:
        wait_for_gpu(sys.argv[1])                        # in: gpu 2007


main()                                                   # in: 2001 2002 2003 2004 2006 gpu 2007
