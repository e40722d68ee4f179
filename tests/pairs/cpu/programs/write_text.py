"""write_text.py FILE BYTES: writes text that compresses like prose, always the same."""
import random
import sys

rng = random.Random(1)
words = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 10))) for _ in range(6000)]
size = int(sys.argv[2])
with open(sys.argv[1], "w", encoding="ascii") as file:
    while size > 0:
        line = " ".join(words[min(int(rng.paretovariate(0.6)), 5999)] for _ in range(12)) + f" {rng.randrange(10**6)}\n"
        file.write(line)
        size -= len(line)
