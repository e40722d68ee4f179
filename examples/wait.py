"""Two threads that compute in Python: only one of them runs at a time, because both need the GIL. The pages docs/python.md and
docs/python-sampling.md use it.

    tacho profile -o wait python3 wait.py
    tacho stats -r python_gil_sum wait.tacho
"""

import threading


def parse(count):
    return sum(len(str(number)) for number in range(count))


def digest(count):
    value = 1
    for number in range(count):
        value = value * 31 + number & 0xffffffff
    return value


def main():
    loader = threading.Thread(target=digest, args=(2_000_000,), name="loader")
    loader.start()
    for _ in range(40):
        parse(60_000)
    loader.join()


main()
