/* A module that is linked with cuDNN, as Python's are, and loaded for itself alone. */
#include "library_calls.h"

int run(void);
int run(void)
{
    return cudnnConvolutionForward(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}
