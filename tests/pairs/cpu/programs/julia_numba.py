"""Computes a Julia set with Numba."""
import numpy as np
from numba import njit, prange


@njit(parallel=True)
def julia(width, height, limit):
    image = np.zeros((height, width), dtype=np.int64)
    for row in prange(height):
        for column in range(width):
            z = complex(3.0 * column / width - 1.5, 2.0 * row / height - 1.0)
            n = 0
            while n < limit and abs(z) < 2.0:
                z = z * z + complex(-0.8, 0.156)
                n += 1
            image[row, column] = n
    return image


def main():
    image = julia(300, 200, 200)
    print(image.sum(), image.max())


if __name__ == "__main__":
    main()
