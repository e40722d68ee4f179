// A program with many functions, as optimised C++ has them: templates, virtual calls, the library's containers and algorithms, recursion
// on large frames, two threads. It does a fixed amount of work: the argument says how much.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline)) // else one function would be all

namespace words {
struct generator {
    uint64_t state;
    APART uint32_t next() { state = state * 6364136223846793005u + 1442695040888963407u; return static_cast<uint32_t>(state >> 33); }
};

APART std::string make(generator &from)
{
    std::string word;
    for (unsigned length = 3 + from.next() % 9; length; length--)
        word += static_cast<char>('a' + from.next() % 26);
    return word;
}

APART uint64_t digest(const std::string &text)
{
    uint64_t sum = 14695981039346656037u;
    for (int round = 0; round < 24; round++)
        for (unsigned char c : text)
            sum = (sum ^ c) * 1099511628211u;
    return sum;
}

APART size_t distance(const std::string &a, const std::string &b) // how many letters to change
{
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        size_t before = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, before + (a[i - 1] != b[j - 1])});
            before = above;
        }
    }
    return row.back();
}
} // namespace words

namespace trees {
struct node {
    virtual ~node() = default;
    virtual double value(double x) const = 0;
};
struct variable : node { APART double value(double x) const override { return x; } };
struct constant : node {
    double number;
    explicit constant(double given) : number(given) {}
    APART double value(double) const override { return number; }
};
template <class Operation> struct binary : node {
    std::unique_ptr<node> left, right;
    APART double value(double x) const override { return Operation()(left->value(x), right->value(x)); }
};
struct sine : node {
    std::unique_ptr<node> inner;
    APART double value(double x) const override { return std::sin(inner->value(x)); }
};

APART std::unique_ptr<node> grow(words::generator &from, int depth)
{
    if (depth == 0) {
        if (from.next() % 2)
            return std::make_unique<variable>();
        return std::make_unique<constant>(from.next() % 100 / 10.0);
    }
    auto fill = [&](auto made) -> std::unique_ptr<node> {
        made->left = grow(from, depth - 1);
        made->right = grow(from, depth - 1);
        return made;
    };
    switch (from.next() % 4) {
    case 0: return fill(std::make_unique<binary<std::plus<double>>>());
    case 1: return fill(std::make_unique<binary<std::multiplies<double>>>());
    case 2: return fill(std::make_unique<binary<std::minus<double>>>());
    }
    auto made = std::make_unique<sine>();
    made->inner = grow(from, depth - 1);
    return made;
}
} // namespace trees

namespace grids {
template <int Side> struct matrix { double cell[Side][Side]; };

template <int Side> APART void multiply(const matrix<Side> &a, const matrix<Side> &b, matrix<Side> &to)
{
    for (int i = 0; i < Side; i++)
        for (int j = 0; j < Side; j++) {
            double sum = 0;
            for (int k = 0; k < Side; k++)
                sum += a.cell[i][k] * b.cell[k][j];
            to.cell[i][j] = sum * 1e-3;
        }
}

APART double smooth(std::vector<double> &cells)
{
    for (size_t i = 1; i + 1 < cells.size(); i++)
        cells[i] = 0.25 * cells[i - 1] + 0.5 * cells[i] + 0.25 * cells[i + 1];
    return cells[cells.size() / 2];
}

APART int life(std::vector<unsigned char> &now, std::vector<unsigned char> &next, int side)
{
    int alive = 0;
    for (int y = 1; y + 1 < side; y++)
        for (int x = 1; x + 1 < side; x++) {
            const unsigned char *at = &now[static_cast<size_t>(y * side + x)];
            int around = at[-1] + at[1] + at[-side - 1] + at[-side] + at[-side + 1] + at[side - 1] + at[side] + at[side + 1];
            alive += next[static_cast<size_t>(y * side + x)] = around == 3 || (around == 2 && *at);
        }
    now.swap(next);
    return alive;
}

APART uint64_t primes(uint32_t below)
{
    std::vector<bool> sieve(below, true);
    uint64_t count = 0;
    for (uint32_t i = 2; i < below; i++)
        if (sieve[i]) {
            count++;
            for (uint64_t j = uint64_t(i) * i; j < below; j += i)
                sieve[j] = false;
        }
    return count;
}
} // namespace grids

namespace deep {
APART uint64_t leaf(const unsigned char *bytes, size_t count)
{
    uint64_t sum = 0;
    for (int round = 0; round < 64; round++)
        for (size_t i = 0; i < count; i++)
            sum = (sum << 5) + sum + bytes[i];
    return sum;
}

// Frames of a kilobyte each, 40 of them: more than a small copy of a stack holds.
APART uint64_t descend(uint64_t seed, int levels)
{
    unsigned char room[1000];
    for (unsigned char &byte : room)
        byte = static_cast<unsigned char>(seed += 77);
    return levels ? descend(seed, levels - 1) + room[seed % sizeof room] : leaf(room, sizeof room);
}
} // namespace deep

struct entry {
    std::string word;
    uint64_t digest;
    bool operator<(const entry &other) const { return word < other.word; }
};

APART static double of_words(words::generator &from)
{
    std::vector<entry> entries;
    std::map<std::string, int> sorted;
    std::unordered_map<std::string, int> hashed;
    for (int i = 0; i < 2000; i++) {
        std::string word = words::make(from);
        entries.push_back({word, words::digest(word)});
        sorted[word]++;
        hashed[word]++;
    }
    std::sort(entries.begin(), entries.end());
    std::stable_sort(entries.begin(), entries.end(), [](const entry &a, const entry &b) { return a.digest < b.digest; });
    size_t changes = 0;
    for (size_t i = 1; i < entries.size(); i++)
        changes += words::distance(entries[i - 1].word, entries[i].word);
    return static_cast<double>(changes + sorted.size() + hashed.size());
}

APART static double of_numbers(words::generator &from)
{
    std::vector<double> cells(4000);
    for (double &cell : cells)
        cell = from.next() % 1000;
    double sum = 0;
    for (int i = 0; i < 40; i++)
        sum += grids::smooth(cells);
    std::vector<unsigned char> now(100 * 100), next(100 * 100);
    for (unsigned char &cell : now)
        cell = from.next() % 2;
    for (int i = 0; i < 20; i++)
        sum += grids::life(now, next, 100);
    static thread_local grids::matrix<24> a, b, c;
    static thread_local grids::matrix<40> d, e, f;
    a.cell[0][0] = b.cell[1][1] = d.cell[2][2] = e.cell[3][3] = sum;
    for (int i = 0; i < 20; i++)
        grids::multiply(a, b, c);
    for (int i = 0; i < 6; i++)
        grids::multiply(d, e, f);
    auto tree = trees::grow(from, 8);
    for (int i = 0; i < 150; i++)
        sum += tree->value(i);
    return sum + c.cell[0][0] + f.cell[0][0] + static_cast<double>(grids::primes(60000)) + static_cast<double>(deep::descend(from.state, 40));
}

APART static void work(int rounds, uint64_t seed, double *result)
{
    words::generator from{seed};
    for (int i = 0; i < rounds; i++)
        *result += of_words(from) + of_numbers(from);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    double results[2] = {};
    std::thread other(work, rounds, 1, &results[0]);
    work(rounds, 2, &results[1]);
    other.join();
    std::printf("%g\n", results[0] + results[1]);
}
