#include <stdio.h>
int two(void)
{
    return printf("two\n");
}
