"""Counts the stems of the words of a text with NLTK."""
import collections
import sys

from nltk.stem import PorterStemmer
from nltk.tokenize import TreebankWordTokenizer


def stems(lines):
    tokenizer = TreebankWordTokenizer()
    stemmer = PorterStemmer()
    for line in lines:
        for token in tokenizer.tokenize(line):
            yield stemmer.stem(token)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        counts = collections.Counter(stems(file))
    print(len(counts), counts.most_common(2))


if __name__ == "__main__":
    main()
