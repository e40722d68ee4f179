"""Calls between functions that know each other, until the file exists that the argument names: whatever is sampled, each caller must be
one of those that there are."""
import os
import sys


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
    while not os.access(sys.argv[1], os.F_OK):
        for _ in range(100):
            root()


main()
