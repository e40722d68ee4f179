// Waits in many places, each reached in another way: templates, lambdas, virtual functions, inlined ones, a library's callback, a
// handler of exceptions, a thread, a forked child. Built with -O2, without frame pointers.
#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile int sink;

__attribute__((noinline)) static void nap()
{
    timespec time = {0, 2000000};
    nanosleep(&time, nullptr);
    sink = sink + 1;
}

namespace shapes {
struct shape {
    virtual int area(int) = 0;
    virtual ~shape() = default;
};
template <typename T, int N> struct box : shape {
    T values[N] = {};
    inline void inlined_wait(int n)
    {
        if (n)
            nap();
        values[n % N] += 1;
    }
    __attribute__((noinline)) int area(int n) override
    {
        inlined_wait(n);
        return static_cast<int>(values[0]) + n;
    }
};
}

__attribute__((noinline)) static int by_virtual(shapes::shape *shape, int n)
{
    volatile char room[64 + 16 * 4];
    room[n] = 1;
    return shape->area(n) + room[n];
}

__attribute__((noinline)) static int by_lambda(int n)
{
    auto twice = [n](auto f) { return f(n) + f(n + 1); };
    return twice([](int k) __attribute__((noinline)) { nap(); return k * sink; });
}

__attribute__((noinline)) static void by_sort()
{
    std::vector<int> numbers(20);
    int naps = 0;
    for (int i = 0; i < 20; i++)
        numbers[static_cast<size_t>(i)] = (i * 7) % 20;
    std::sort(numbers.begin(), numbers.end(), [&naps](int a, int b) {
        if (naps++ < 2)
            nap();
        return a < b;
    });
    sink = sink + numbers[3];
}

__attribute__((noinline)) static void throws(int n)
{
    if (n > 0)
        throw std::runtime_error("thrown");
}

__attribute__((noinline)) static int by_handler(int n)
{
    try {
        throws(n);
    } catch (const std::exception &) {
        nap();
    }
    return n + sink;
}

__attribute__((noinline)) static int recursive(int depth)
{
    char room[depth * 16 + 1];
    room[0] = static_cast<char>(depth);
    if (depth == 0)
        nap();
    else
        recursive(depth - 1);
    return room[0] + sink;
}

int main()
{
    shapes::box<double, 3> box;
    int sum = by_virtual(&box, 2) + by_lambda(3) + by_handler(1) + recursive(6);
    by_sort();
    std::thread thread([] { recursive(2); });
    thread.join();
    pid_t child = fork();
    if (child == 0) {
        recursive(1);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    return sum == 12345;
}
