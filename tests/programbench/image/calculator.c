/* The original of the calculator fixture: `executable A OP B` with integers. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: executable A + | - | * B\n");
        return 2;
    }
    long a = atol(words[1]), b = atol(words[3]);
    switch (words[2][0]) {
    case '+': printf("%ld\n", a + b); return 0;
    case '-': printf("%ld\n", a - b); return 0;
    case '*': printf("%ld\n", a * b); return 0;
    }
    fprintf(stderr, "executable: unknown operator %s\n", words[2]);
    return 2;
}
