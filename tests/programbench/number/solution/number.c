/* number: says numbers in English. Written from the documents and the answers of the original, not from its source. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DIGITS = 65, MAX_LINE = 256 };

static const char *const small[] = {
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
};
static const char *const tens[] = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
};
static const char *const powers[] = {
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion",
    "octillion", "nonillion", "decillion", "undecillion", "duodecillion", "tredecillion", "quattuordecillion",
    "quindecillion", "sexdecillion", "septendecillion", "octodecillion", "novemdecillion", "vigintillion",
};

static int one_line;

/* A number from 1 to 999. */
static void say_group(int value)
{
    if (value >= 100) {
        printf("%s hundred", small[value / 100]);
        value %= 100;
        if (value)
            putchar(' ');
    }
    if (value >= 20) {
        fputs(tens[value / 10], stdout);
        if (value % 10)
            printf("-%s", small[value % 10]);
    } else if (value) {
        fputs(small[value], stdout);
    }
}

/* The digits as a whole number, a power of a thousand after the other; 0 if there is nothing to say. */
static int say_digits(const char *digits)
{
    size_t left = strlen(digits);
    int said = 0;

    while (left > 0) {
        size_t take = left % 3 ? left % 3 : 3;
        int value = 0;

        for (size_t i = 0; i < take; i++)
            value = value * 10 + (*digits++ - '0');
        left -= take;
        if (!value)
            continue;
        said = 1;
        say_group(value);
        if (left)
            printf(" %s", powers[left / 3]);
        if (!one_line)
            puts(".");
        else if (left)
            putchar(' ');
    }
    return said;
}

/* What the last digit of a fraction counts: tenths, hundredths, thousandths, ... */
static void say_fraction_name(const char *digits)
{
    static const char *const before[] = {"", "ten", "hundred"};
    size_t length = strlen(digits);
    const char *first = digits + strspn(digits, "0");

    if (length < 3)
        printf("%sth", before[length]);
    else
        printf("%s%s%sth", before[length % 3], length % 3 ? "-" : "", powers[length / 3]);
    puts(strcmp(first, "1") ? "s." : ".");
}

static void say(char *line)
{
    char *number = line + strspn(line, " \t");
    char *whole = number + (*number == '-');
    char *fraction = NULL;

    for (char *at = whole; *at; at++) {
        if (*at >= '0' && *at <= '9')
            continue;
        if (*at == '.' && !fraction) {
            *at = '\0';
            fraction = at + 1;
            continue;
        }
        if (*at == '\n') {
            *at = '\0';
            break;
        }
        errx(1, "illegal number: %s", number);
    }
    if (strlen(number) > MAX_DIGITS || (fraction && strlen(fraction) > MAX_DIGITS))
        errx(1, "number too large, max %d digits.", MAX_DIGITS);
    if (*number == '-')
        fputs(one_line ? "minus " : "minus\n", stdout);

    int said = say_digits(whole);

    if (fraction && strspn(fraction, "0") < strlen(fraction)) {
        if (said)
            fputs(one_line ? " and " : "and\n", stdout);
        said = 1;
        say_digits(fraction);
        if (one_line)
            putchar(' ');
        say_fraction_name(fraction);
    }
    if (!said)
        fputs(one_line ? "zero" : "zero.\n", stdout);
    if (one_line)
        putchar('\n');
}

int main(int count, char **words)
{
    int option, first = 1;

    while ((option = getopt(count, words, "l")) != -1) {
        if (option != 'l') {
            fputs("usage: number [# ...]\n", stderr);
            return 1;
        }
        one_line = 1;
    }
    if (optind < count) {
        for (int i = optind; i < count; i++) {
            if (i > optind)
                puts("...");
            say(words[i]);
        }
        return 0;
    }

    char line[MAX_LINE];

    while (fgets(line, sizeof line, stdin)) {
        if (!strchr(line, '\n'))
            errx(1, "line too long.");
        if (!first)
            puts("...");
        first = 0;
        say(line);
    }
    return 0;
}
