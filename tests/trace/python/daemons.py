"""Ends while daemon threads are in calls, which come back during the end of the interpreter and after it."""
import ctypes
import threading

libc = ctypes.CDLL(None)


def nap(begun, microseconds):
    begun.set()
    while True:
        libc.usleep(microseconds)


for number in range(8):
    event = threading.Event()
    threading.Thread(target=nap, args=(event, 20 + 30 * number), daemon=True).start()
    event.wait()
