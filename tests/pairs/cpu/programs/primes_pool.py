"""Counts primes in ranges with a pool of processes."""
import multiprocessing

RANGES = [(2, 50_000), (50_000, 100_000), (100_000, 150_000), (150_000, 600_000)]


def is_prime(n):
    if n % 2 == 0:
        return n == 2
    i = 3
    while i * i <= n:
        if n % i == 0:
            return False
        i += 2
    return True


def count(bounds):
    return sum(is_prime(n) for n in range(*bounds))


def main():
    with multiprocessing.Pool(2) as pool:
        print(pool.map(count, RANGES, chunksize=1))


if __name__ == "__main__":
    main()
