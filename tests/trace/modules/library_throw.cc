// An exception that goes through a call into a library, from its callback to the caller.
#include <cstdio>
#include <stdexcept>

extern "C" int cublasCgemm_v2(void (*callback)(void *), void *context);
extern "C" int cublasLtMatmul(int value);

static void throws(void *)
{
    throw std::runtime_error("through");
}

int main()
{
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            cublasCgemm_v2(throws, nullptr);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    std::puts(caught == 20 && cublasLtMatmul(2) == 4 ? "ok" : "wrong");
    return caught != 20;
}
