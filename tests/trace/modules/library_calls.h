/* Functions with the names of cuBLAS's and others', and with every way of passing arguments that the C ABI has, so that
 * what stands between caller and library must get all of them right. The library checks what arrives, the caller what
 * comes back; both compute the expected values from the same seed. */
#ifndef LIBRARY_CALLS_H
#define LIBRARY_CALLS_H

#include <stdint.h>

struct pair {
    int64_t a, b;
};
struct reals {
    double a, b;
};
struct mixed {
    int64_t a;
    double b;
};
struct four {
    double a, b, c, d;
};
struct large {
    int64_t words[16];
};
struct result {
    int64_t words[5];
};

/* All return what the arguments add up to, in their own way; a wrong one changes the sum. */
int64_t cublasSgemm_v2(int a, int64_t b, int c, int64_t d, int e, int64_t f, int g, int64_t h, int i, int64_t j, int k,
                       int64_t l, int m, int64_t n);
double cublasDgemm_v2(double a, int b, double c, int64_t d, double e, int f, double g, int64_t h, double i, int j,
                      double k, int64_t l, double m, double n, double o, double p, int q, double r);
float cublasHgemm(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j);
int64_t cublasGemmEx(struct large a, int b, struct pair c, struct reals d, struct mixed e, struct four f, int64_t g);
struct result cublasGemmBatchedEx(int64_t a, struct large b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g,
                                  int64_t h);
struct pair cublasIsamax_v2(int64_t a);
struct reals cublasDasum_v2(double a);
struct mixed cublasSasum_v2(double a, int64_t b);
struct four cublasScasum_v2(double a);
__int128 cublasDotEx(int a, __int128 b, int64_t c, __int128 d, int64_t e, __int128 f);
long double cublasNrm2Ex(int a, long double b, double c, long double d);
double cublasAxpyEx(int count, ...);
int cublasScalEx(int *errno_before, int errno_after);

int cublasGemmStridedBatchedEx(int value);        /* calls cublasLtMatmul through the loader */
int cublasLtMatmul(int value);
int cublasCgemm_v2(void (*callback)(void *), void *context);
void *cublasZgemm_v2(int *frames, void *to_find); /* walks the stack: NULL, or where it found the function `to_find` */
int cublasSetStream_v2(int value);                /* one of the small calls */
int cublasCreate_v2(int value);
int cublasTheNextVersionHasThis(int a, int b, int c, int d, int e, int f, int g, int h); /* in no list */
int cublasDtrsm_v2(int value); /* in the list, but not in this library */

int cudnnConvolutionForward(int a, double b, int c, int d, int e, int f, int g, int h, double i, int j);
int cusparseSpMM(int value);
int cusolverDnXgetrf(int value);
const char *cublasTestVersion(void);

#if defined(__x86_64__)
typedef double wide32 __attribute__((vector_size(32)));
typedef double wide64 __attribute__((vector_size(64)));
__attribute__((target("avx"))) wide32 cublasSsyrk_v2(wide32 a, wide32 b, double c, wide32 d, int e);
__attribute__((target("avx512f"))) wide64 cublasDsyrk_v2(wide64 a, wide64 b, double c, wide64 d, int e);
#endif

#endif
