"""Three functions that burn 60, 30 and 10 % of the time, a thread that sleeps, one that waits for a lock that main() holds, and a
child of fork that burns too. Prints what it measured itself, as one line of JSON: seconds in each function by its own clock."""
import json
import os
import sys
import threading
import time

spent = {"burn_sixty": 0.0, "burn_thirty": 0.0, "burn_ten": 0.0}
ended = threading.Event()
lock = threading.Lock()


def burn_sixty(until):
    while time.perf_counter() < until:
        pass


def burn_thirty(until):
    while time.perf_counter() < until:
        pass


def burn_ten(until):
    while time.perf_counter() < until:
        pass


def sleeps():
    ended.wait()


def waits_for_lock():
    with lock:
        pass


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for function, share in ((burn_sixty, 6), (burn_thirty, 3), (burn_ten, 1)):
            begin = time.perf_counter()
            function(begin + share * 0.002)
            spent[function.__name__] += time.perf_counter() - begin


def child_burns():
    burn(0.3)


def main():
    child = os.fork()
    if child == 0:
        child_burns()
        os._exit(0)
    with lock:
        threads = [threading.Thread(target=sleeps), threading.Thread(target=waits_for_lock)]
        for thread in threads:
            thread.start()
        burn(float(sys.argv[1]))
        ended.set()
    for thread in threads:
        thread.join()
    os.waitpid(child, 0)
    print(json.dumps(spent), flush=True)


main()
