"""Threads that stand still at places of all kinds, and the truth about it: sys._current_frames() of the program itself.

Prints one line of JSON, once all of them stand: the time, ns of the monotonic clock, and {tid: [[function, file, line], …]} with the
innermost first. Lets them go when its input ends, and prints the time of that. Runs on every CPython from 3.9 on.
"""
import asyncio
import contextlib
import functools
import json
import os
import sys
import threading
import time

from standing import do_stand

gate = threading.Lock()


def park():
    gate.acquire()
    gate.release()


def deep(levels):
    if levels:
        deep(levels - 1)
    else:
        park()


def numbers():
    yield 1
    park()
    yield 2


def delegating():
    yield from numbers()


def generator():
    for number in delegating():
        number += 1


async def inner():
    park()


async def outer():
    await inner()


def coroutine():
    asyncio.run(outer())


async def waits():
    await asyncio.get_running_loop().run_in_executor(None, park)


def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments, **more):
        return function(*arguments,
                        **more)
    return wrapper


@decorator
@decorator
def decorated(first, *, second):
    park()


@functools.lru_cache(maxsize=None)
def cached(number):
    park()


class Thing:
    def method(self):
        return self.attribute

    @property
    def attribute(self):
        return [park() for _ in range(1)]

    def __lt__(self, other):
        park()
        return False

    @classmethod
    def create(cls):
        class Inside:
            park()
        return Inside


def sorting():
    sorted([Thing(), Thing()])


def key_function():
    sorted([2, 1], key=lambda number:
           park() or number)


@contextlib.contextmanager
def manager():
    park()
    yield


def manages():
    with manager():
        pass


def executed():
    exec("def from_text():\n"
         "    park()\n"
         "\n"
         "from_text()", globals())


def evaluated():
    eval("park()")


def größe():
    park()


def other_file():
    exec(compile("\n\n\ndef 名前():\n    park()\n名前()", "/no/such/folder/\U0001f600 file.py", "exec"), globals())


def raises():
    try:
        raise ValueError
    except ValueError:
        park()
    finally:
        pass


PLACES = [park, lambda: deep(500), generator, coroutine, functools.partial(decorated, 1, second=2), lambda: cached(1), Thing().method,
          Thing.create, sorting, key_function, manages, executed, evaluated, größe, other_file, raises, lambda: list(map(deep, [3])),
          lambda: asyncio.run(waits())]


def stack_of(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def stacks():
    frames = sys._current_frames()
    return {thread.native_id: stack_of(frames[thread.ident]) for thread in threading.enumerate()
            if thread.ident in frames and thread is not threading.current_thread()}


def tell_truth():
    """All threads stand when as many as there are places are in park(), and none of them woke up between two looks at their stacks."""
    while True:
        before = stacks()
        is_still, now = do_stand(before), stacks()
        standing = [stack[0][0] for stack in now.values()]
        if is_still and now == before and standing.count("park") >= len(PLACES) and "stand_by" in standing:
            break
    print(json.dumps([time.monotonic_ns(), now]), flush=True)


def stand_by():
    os.read(0, 1)


def main():
    sys.setrecursionlimit(5000)
    threading.stack_size(16 << 20)
    gate.acquire()
    threads = [threading.Thread(target=place) for place in PLACES]
    for thread in threads:
        thread.start()
    reporter = threading.Thread(target=tell_truth)
    reporter.start()
    stand_by()
    print(time.monotonic_ns(), flush=True)
    gate.release()
    for thread in threads + [reporter]:
        thread.join()


if __name__ == "__main__":
    main()
