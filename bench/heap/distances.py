"""What sampling makes of the allocations of cache.c at the peak, by calculation: with the distances of src/agent/heap/heap_distance.c for the
first 40 threads (mixed), with those that it had at first (golden), and with independent random ones. In per cent, of the blocks alive at the peak
and of all that is allocated."""
import math
import random
import statistics

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
RATE, KEYS, REQUESTS, SEEDS = 65536, 4000, 12000, 40


def mix(number):
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


def states(thread):
    state = mix((thread + 1) * GOLDEN & WORD) | 1
    while True:
        state = (state + GOLDEN) & WORD
        yield state


def distance(number):
    return int(-math.log((number | 1) / 2**64) * RATE) + 1


def golden(thread):
    return map(distance, states(thread))


def mixed(thread):
    return map(distance, map(mix, states(thread)))


def independent(thread):
    draws = random.Random(thread)
    while True:
        yield int(draws.expovariate(1 / RATE)) + 1


def allocations():
    """(bytes, whether they are alive at the peak)"""
    filled = set()
    for request in range(REQUESTS):
        key = request * 40503 % KEYS
        size = 1000 + (key * 2654435761 & 0xFFFFFFFF) % 6000
        yield 16384, False
        if key not in filled:
            yield size, True
        filled.add(key)
        if request % 11 == 0:
            yield size, True


def errors(blocks, distances):
    sums, left = {True: 0, False: 0}, next(distances)
    for size, alive in blocks:
        if left > size:
            left -= size
            continue
        sums[alive] += size / (1 - math.exp(-size / RATE))
        left = next(distances)
    exact = sum(size for size, alive in blocks if alive)
    whole = sum(size for size, _ in blocks)
    return 100 * (sums[True] / exact - 1), 100 * (sum(sums.values()) / whole - 1)


def main():
    blocks = list(allocations())
    for draw in (golden, mixed, independent):
        for name, found in zip(("at the peak", "all"), zip(*(errors(blocks, draw(seed)) for seed in range(SEEDS)))):
            print(f"{draw.__name__}, {name}: mean {statistics.mean(found):+.2f} %, standard deviation {statistics.stdev(found):.2f}")


if __name__ == "__main__":
    main()
