// Maps and strings of the standard library; a map is lost with all that it holds.
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

static std::string word(unsigned i)
{
    return std::string(4 + i * 2654435761u % 60, static_cast<char>('a' + i % 26)) + std::to_string(i);
}

__attribute__((noinline)) static size_t count_words(unsigned words)
{
    std::unordered_map<std::string, std::vector<unsigned>> places;
    std::map<std::string, unsigned> counts;
    for (unsigned i = 0; i < words; i++) {
        places[word(i % (words / 4))].push_back(i);
        counts[word(i / 2)]++;
    }
    return places.size() + counts.size();
}

__attribute__((noinline)) static void lose_map()
{
    auto *lost = new std::map<unsigned, std::string>;
    for (unsigned i = 0; i < 300; i++)
        (*lost)[i] = std::string(100 + i, 'x');
}

__attribute__((noinline)) static void scrub()
{
    volatile char words[16384];
    for (auto &at : words)
        at = 0;
}

int main(int argc, char **argv)
{
    for (int i = argc > 1 ? std::stoi(argv[1]) : 1; i > 0; i--) {
        count_words(40000);
        lose_map();
    }
    scrub();
    return 0;
}
