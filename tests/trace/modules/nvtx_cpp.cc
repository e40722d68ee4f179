// The client in C++: a range as long as its scope.
#include "../nvtx_client.h"

#include <thread>
#include <vector>

namespace {
struct range {
    explicit range(const char *text) { nvtx_push(text); }
    ~range() { nvtx_pop(); }
};

int depth(int n)
{
    range here("recursion");
    return n == 0 ? 0 : 1 + depth(n - 1);
}
} // namespace

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([] { depth(9); });
    for (auto &thread : threads)
        thread.join();
    try {
        range here("left by an exception");
        throw 1;
    } catch (int) {
        nvtx_mark("caught");
    }
    return nvtx_client.attached ? 0 : 1;
}
