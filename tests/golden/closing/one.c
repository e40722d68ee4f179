#include <stdio.h>
int one(void)
{
    return printf("one\n");
}
