"""Counts the words of a text, and gets slower with every new word: one line of Python takes nearly all of the time. The page
docs/questions/python.md finds it.

    tacho profile python3 wordcount.py
    tacho stats -r python_sample_sum:lines report1.tacho
    python3 wordcount.py --mended
"""

import random
import sys

WORDS, KNOWN = 20_000, 1_500


def make_text(seed=7):
    """Words that are drawn at random from a vocabulary."""
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefgh", k=5)) for _ in range(KNOWN)] + [f"w{draw.randrange(KNOWN)}" for _ in range(WORDS - KNOWN)]


def count_slowly(words):
    seen, counts = [], []
    for word in words:
        if word not in seen:  # looks at every word that was seen before
            seen.append(word)
            counts.append(0)
        counts[seen.index(word)] += 1
    return dict(zip(seen, counts))


def count_quickly(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def main():
    words = make_text()
    counts = (count_quickly if "--mended" in sys.argv else count_slowly)(words)
    print(f"{len(words)} words, {len(counts)} different ones, the most frequent {max(counts.values())} times")


main()
