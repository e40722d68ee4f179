"""Three functions that burn 60, 30 and 10 % of the time, a thread that sleeps, one that waits for a lock that main() holds, and a
child of fork that burns too. Prints as one line of JSON what it knows itself: [function, begin, end] of every call, ns of the monotonic
clock. All that time both threads stand. Ends when the file exists that the argument names."""
import json
import os
import sys
import threading
import time

from standing import do_stand

calls = []
ended = threading.Event()
lock = threading.Lock()


def burn_sixty(until):
    while time.monotonic() < until:
        pass


def burn_thirty(until):
    while time.monotonic() < until:
        pass


def burn_ten(until):
    while time.monotonic() < until:
        pass


def sleeps():
    ended.wait()


def waits_for_lock():
    with lock:
        pass


def burn(path):
    while not os.access(path, os.F_OK):
        for function, share in ((burn_sixty, 6), (burn_thirty, 3), (burn_ten, 1)):
            begin = time.monotonic_ns()
            function(time.monotonic() + share * 0.002)
            calls.append([function.__name__, begin, time.monotonic_ns()])


def child_burns(path):
    burn(path)


def main():
    child = os.fork()
    if child == 0:
        child_burns(sys.argv[1])
        os._exit(0)
    with lock:
        threads = [threading.Thread(target=sleeps), threading.Thread(target=waits_for_lock)]
        for thread in threads:
            thread.start()
        while not do_stand([thread.native_id for thread in threads]):
            pass
        burn(sys.argv[1])
        ended.set()
    for thread in threads:
        thread.join()
    os.waitpid(child, 0)
    print(json.dumps(calls), flush=True)


main()
