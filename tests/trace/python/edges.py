"""Calls without end between functions that know each other: whatever is sampled, each caller must be one of those that there are."""
import sys
import time


def leaf():
    return 1


def left_three(a, b):
    return leaf() + a + b


def left_two(a):
    return left_three(a, a)


def left():
    return left_two(1) + left_two(2)


def right_two(a, b, c):
    return leaf() + a + b + c


def right():
    return right_two(1, 2, 3)


def down(levels):
    return down(levels - 1) if levels else left()


def root():
    return left() + right() + down(6)


def main():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for _ in range(100):
            root()


main()
