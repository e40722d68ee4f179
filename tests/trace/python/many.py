"""A program with many functions, as Python has them: methods, generators, comprehensions, lambdas, recursion, an iterator class. Says
its pid, waits for a line, and does a fixed amount of work: the argument says how much."""
import os
import sys


class Generator:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return self.state >> 33


class Grid:
    def __init__(self, side, source):
        self.side = side
        self.cells = [source.next() % 2 for _ in range(side * side)]

    def around(self, at):
        cells, side = self.cells, self.side
        return sum(cells[at + d] for d in (-side - 1, -side, 1 - side, -1, 1, side - 1, side, side + 1))

    def step(self):
        side, last = self.side, len(self.cells) - self.side - 1
        self.cells = [int(side < at < last and self.rule(self.cells[at], self.around(at))) for at in range(len(self.cells))]

    @staticmethod
    def rule(alive, around):
        return around == 3 or (alive and around == 2)


class Tree:
    def __init__(self):
        self.left = self.right = self.key = None

    def insert(self, key):
        if self.key is None:
            self.key, self.left, self.right = key, Tree(), Tree()
        elif key < self.key:
            self.left.insert(key)
        else:
            self.right.insert(key)

    def walk(self):
        if self.key is not None:
            yield from self.left.walk()
            yield self.key
            yield from self.right.walk()


def make_word(source):
    return "".join(chr(97 + source.next() % 26) for _ in range(4 + source.next() % 6))


def digest(text):
    total = 5381
    for letter in text:
        total = (total * 33 + ord(letter)) & 0xFFFFFFFF
    return total


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]


def parse_sum(text, at):
    total, at = parse_product(text, at)
    while at < len(text) and text[at] == "+":
        value, at = parse_product(text, at + 1)
        total += value
    return total, at


def parse_product(text, at):
    total, at = parse_value(text, at)
    while at < len(text) and text[at] == "*":
        value, at = parse_value(text, at + 1)
        total *= value
    return total, at


def parse_value(text, at):
    if text[at] == "(":
        value, at = parse_sum(text, at + 1)
        return value, at + 1
    return int(text[at]), at + 1


def primes(below):
    found = []
    for number in range(2, below):
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
    return found


def multiply(a, b):
    columns = list(zip(*b))
    return [[dot(row, column) for column in columns] for row in a]


def dot(row, column):
    return sum(x * y for x, y in zip(row, column)) % 97


def merge_sort(items, key):
    if len(items) < 2:
        return items
    middle = len(items) // 2
    return merge(merge_sort(items[:middle], key), merge_sort(items[middle:], key), key)


def merge(left, right, key):
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if key(left[i]) <= key(right[j]):
            result.append(left[i])
            i += 1
        else:
            result.append(right[j])
            j += 1
    return result + left[i:] + right[j:]


def hanoi(count, a, b, c):
    return hanoi(count - 1, a, c, b) + 1 + hanoi(count - 1, c, b, a) if count else 0


def of_words(source):
    words = [make_word(source) for _ in range(10 + source.next() % 100)]
    tree = Tree()
    for word in words:
        tree.insert(word)
    words = merge_sort(list(tree.walk()), key=lambda word: (len(word), word))
    return sum(map(digest, words)) + sum(distance(a, b) for a, b in zip(words, words[1:]))


def of_numbers(source):
    grid = Grid(16, source)
    grid.step()
    matrix = [[source.next() % 10 for _ in range(9)] for _ in range(9)]
    expression = "+".join(f"({source.next() % 10}*{source.next() % 10}+{source.next() % 10})*2" for _ in range(1 + source.next() % 50))
    return sum(grid.cells) + len(primes(source.next() % 600)) + multiply(matrix, matrix)[0][0] + parse_sum(expression, 0)[0] + hanoi(7, 1, 2, 3)


def work(rounds):
    source, total = Generator(1), 0
    for _ in range(rounds):  # in no rhythm, which that of samples might fall in with
        total += (of_words if source.next() % 2 else of_numbers)(source)
    return total


def stand():
    print(os.getpid(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    stand()
    print(work(int(sys.argv[1])))
