/* Two thousand functions with loops. */
#define ONE(n) \
    double step_##n(const double *a, double *b, int count) { \
        double sum = 0; \
        for (int i = 1; i + 1 < count; i++) { \
            b[i] = a[i - 1] * n + a[i + 1] / (n + 1.5); \
            sum += b[i] > n ? b[i] : a[i]; \
        } \
        return sum; \
    }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1) HUNDRED(2) HUNDRED(3)
