#include <stdio.h>
int three(void)
{
    return printf("three\n");
}
