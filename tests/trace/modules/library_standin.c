/* Stands in for cuBLAS and others: see library_calls.h. */
#define _GNU_SOURCE
#include "library_calls.h"

#include <errno.h>
#include <stdarg.h>
#include <unwind.h>

#ifdef CUBLAS
int64_t cublasSgemm_v2(int a, int64_t b, int c, int64_t d, int e, int64_t f, int g, int64_t h, int i, int64_t j, int k,
                       int64_t l, int m, int64_t n)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m +
           14 * n;
}

double cublasDgemm_v2(double a, int b, double c, int64_t d, double e, int f, double g, int64_t h, double i, int j,
                      double k, int64_t l, double m, double n, double o, double p, int q, double r)
{
    return a + 2 * b + 3 * c + 4 * (double)d + 5 * e + 6 * f + 7 * g + 8 * (double)h + 9 * i + 10 * j + 11 * k +
           12 * (double)l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r;
}

float cublasHgemm(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

int64_t cublasGemmEx(struct large a, int b, struct pair c, struct reals d, struct mixed e, struct four f, int64_t g)
{
    int64_t sum = b + c.a + 2 * c.b + (int64_t)(d.a + 2 * d.b) + e.a + (int64_t)e.b +
                  (int64_t)(f.a + f.b * 2 + f.c * 3 + f.d * 4) + g;
    for (int i = 0; i < 16; i++) {
        sum += (i + 1) * a.words[i];
        a.words[i] = -1; /* it is ours: the caller must not see this */
    }
    return sum;
}

struct result cublasGemmBatchedEx(int64_t a, struct large b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g,
                                  int64_t h)
{
    return (struct result){ { a + b.words[0], c + b.words[3], d + e, f + b.words[15], g + 3 * h } };
}

struct pair cublasIsamax_v2(int64_t a)
{
    return (struct pair){ a + 1, a * 2 };
}
struct reals cublasDasum_v2(double a)
{
    return (struct reals){ a + 1, a * 2 };
}
struct mixed cublasSasum_v2(double a, int64_t b)
{
    return (struct mixed){ b + 1, a * 2 };
}
struct four cublasScasum_v2(double a)
{
    return (struct four){ a, a + 1, a + 2, a + 3 };
}

__int128 cublasDotEx(int a, __int128 b, int64_t c, __int128 d, int64_t e, __int128 f)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

long double cublasNrm2Ex(int a, long double b, double c, long double d)
{
    return a + 2 * b + 3 * c + 4 * d;
}

double cublasAxpyEx(int count, ...)
{
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += (i + 1) * (i % 2 ? va_arg(list, double) : (double)va_arg(list, int));
    va_end(list);
    return sum;
}

int cublasScalEx(int *errno_before, int errno_after)
{
    *errno_before = errno;
    errno = errno_after;
    return 0;
}

int cublasGemmStridedBatchedEx(int value)
{
    return cublasLtMatmul(value) + 1;
}
int cublasLtMatmul(int value)
{
    return value * 2;
}

int cublasCgemm_v2(void (*callback)(void *), void *context)
{
    callback(context);
    return 5;
}

struct walk {
    int frames;
    void *to_find, *found;
};

static _Unwind_Reason_Code look_at(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    walk->frames++;
    if (_Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context)) == walk->to_find)
        walk->found = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

void *cublasZgemm_v2(int *frames, void *to_find)
{
    struct walk walk = { .to_find = to_find };
    _Unwind_Backtrace(look_at, &walk);
    *frames = walk.frames;
    return walk.found;
}

int cublasSetStream_v2(int value)
{
    return value + 1;
}
int cublasCreate_v2(int value)
{
    return value + 2;
}
int cublasTheNextVersionHasThis(int a, int b, int c, int d, int e, int f, int g, int h)
{
    return a + b + c + d + e + f + g + h;
}
const char *cublasTestVersion(void)
{
    return CUBLAS;
}

#if defined(__x86_64__)
__attribute__((target("avx"))) wide32 cublasSsyrk_v2(wide32 a, wide32 b, double c, wide32 d, int e)
{
    return a + 2 * b + c + 3 * d + e;
}
__attribute__((target("avx512f"))) wide64 cublasDsyrk_v2(wide64 a, wide64 b, double c, wide64 d, int e)
{
    return a + 2 * b + c + 3 * d + e;
}
#endif
#endif

#ifdef CUDNN
int cudnnConvolutionForward(int a, double b, int c, int d, int e, int f, int g, int h, double i, int j)
{
    return cublasLtMatmul(a + (int)b + 2 * c + 3 * d + 4 * e + 5 * f + 6 * g + 7 * h + (int)i + 8 * j);
}
#endif
#ifdef CUSPARSE
int cusparseSpMM(int value)
{
    return value - 1;
}
#endif
#ifdef CUSOLVER
int cusolverDnXgetrf(int value)
{
    return cublasLtMatmul(value) - 3;
}
#endif
