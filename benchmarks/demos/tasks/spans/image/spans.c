/* spans: fold whole numbers into ranges, unfold them, combine sets of them. See spans.txt. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 1000000000L
#define MANY 1000000L

struct range { long low, high; };
struct set { struct range *at; size_t count, room; };

static const char *separator = ",";
static long gap = 0, least = 2, width = 0;
static int expand = 0, descending = 0, counting = 0, summary = 0, quiet = 0;

static void fail(const char *what, const char *word)
{
    if (word)
        fprintf(stderr, "spans: %s '%s'\n", what, word);
    else
        fprintf(stderr, "spans: %s\n", what);
    exit(2);
}

static void add(struct set *set, long low, long high)
{
    if (set->count == set->room) {
        set->room = set->room ? set->room * 2 : 16;
        set->at = realloc(set->at, set->room * sizeof *set->at);
        if (!set->at)
            fail("out of memory", NULL);
    }
    set->at[set->count].low = low;
    set->at[set->count++].high = high;
}

static int by_low(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

/* Sort, and join what overlaps or touches. */
static void settle(struct set *set)
{
    size_t from, to = 0;
    if (set->count == 0)
        return;
    qsort(set->at, set->count, sizeof *set->at, by_low);
    for (from = 1; from < set->count; from++) {
        if (set->at[from].low <= set->at[to].high + 1) {
            if (set->at[from].high > set->at[to].high)
                set->at[to].high = set->at[from].high;
        } else
            set->at[++to] = set->at[from];
    }
    set->count = to + 1;
}

/* A number at *text; 0 if there is none. */
static int number(const char **text, long *value, const char *item)
{
    const char *at = *text;
    char *end;
    if (*at == '-' || *at == '+')
        at++;
    if (*at < '0' || *at > '9')
        return 0;
    errno = 0;
    *value = strtol(*text, &end, 10);
    if (errno || *value > LIMIT || *value < -LIMIT)
        fail("number out of range", item);
    *text = end;
    return 1;
}

static void item(struct set *set, const char *word)
{
    const char *at = word;
    long low, high;
    if (!number(&at, &low, word))
        fail("bad item", word);
    high = low;
    if (strncmp(at, "..", 2) == 0) {
        at += 2;
        if (!number(&at, &high, word))
            fail("bad item", word);
    }
    if (*at)
        fail("bad item", word);
    if (high < low)
        fail("backward range", word);
    add(set, low, high);
}

/* Items between commas and blanks. */
static void items(struct set *set, char *text)
{
    char *word;
    for (word = strtok(text, ", \t\r\n"); word; word = strtok(NULL, ", \t\r\n"))
        item(set, word);
}

static void stream(struct set *set, FILE *file)
{
    size_t used = 0, room = 4096, got;
    char *text = malloc(room + 1);
    while (text && (got = fread(text + used, 1, room - used, file)) > 0) {
        used += got;
        if (used == room)
            text = realloc(text, (room *= 2) + 1);
    }
    if (!text)
        fail("out of memory", NULL);
    text[used] = 0;
    items(set, text);
    free(text);
}

static struct set set_of(const char *text)
{
    struct set set = {0};
    char *copy = strdup(text);
    items(&set, copy);
    free(copy);
    settle(&set);
    return set;
}

static struct set both(const struct set *left, const struct set *right)
{
    struct set out = {0};
    size_t i = 0, j = 0;
    while (i < left->count && j < right->count) {
        long low = left->at[i].low > right->at[j].low ? left->at[i].low : right->at[j].low;
        long high = left->at[i].high < right->at[j].high ? left->at[i].high : right->at[j].high;
        if (low <= high)
            add(&out, low, high);
        if (left->at[i].high < right->at[j].high)
            i++;
        else
            j++;
    }
    return out;
}

static struct set complement(const struct set *set)
{
    struct set out = {0};
    long low = -LIMIT;
    size_t i;
    for (i = 0; i < set->count; i++) {
        if (low < set->at[i].low)
            add(&out, low, set->at[i].low - 1);
        low = set->at[i].high + 1;
    }
    if (low <= LIMIT)
        add(&out, low, LIMIT);
    return out;
}

static void put(long value, int *first)
{
    if (!*first)
        fputs(separator, stdout);
    *first = 0;
    printf("%0*ld", (int)width, value);
}

static void put_range(struct range range, int *first)
{
    long length = range.high - range.low + 1;
    if (expand || length < least) {
        long at;
        for (at = 0; at < length; at++)
            put(descending ? range.high - at : range.low + at, first);
        return;
    }
    put(descending ? range.high : range.low, first);
    printf("..%0*ld", (int)width, descending ? range.low : range.high);
}

static char *unescaped(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    for (; *text; text++) {
        if (*text != '\\') {
            *to++ = *text;
            continue;
        }
        text++;
        if (*text == 'n')
            *to++ = '\n';
        else if (*text == 't')
            *to++ = '\t';
        else if (*text == '\\')
            *to++ = '\\';
        else
            fail("bad separator", NULL);
    }
    *to = 0;
    return out;
}

static long whole(const char *text, long low, long high, char option)
{
    char *end, name[3] = {'-', option, 0};
    long value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < low || value > high) {
        fprintf(stderr, "spans: bad value '%s' for %s\n", text, name);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct set set = {0}, other;
    struct { char how; const char *what; } *steps = calloc((size_t)argc + 1, sizeof *steps);
    size_t number_of_steps = 0, k;
    int at, first = 1, given = 0;
    long total = 0;

    for (at = 1; at < argc; at++) {
        char *word = argv[at], *value;
        if (word[0] != '-' || (word[1] >= '0' && word[1] <= '9')) {
            char *copy = strdup(word);
            given = 1;
            items(&set, copy);
            free(copy);
            continue;
        }
        if (!word[1] || !strchr("cdefgimqrsuwx", word[1]))
            fail("unknown option", word);
        if (strchr("cerqs", word[1])) {
            char *flag;
            for (flag = word + 1; *flag; flag++) {
                if (!strchr("cerqs", *flag))
                    fail("unknown option", word);
                expand |= *flag == 'e';
                descending |= *flag == 'r';
                counting |= *flag == 'c';
                summary |= *flag == 's';
                quiet |= *flag == 'q';
            }
            continue;
        }
        value = word[2] ? word + 2 : argv[++at];
        if (!value)
            fail("option needs a value", word);
        switch (word[1]) {
        case 'd': separator = unescaped(value); break;
        case 'g': gap = whole(value, 0, LIMIT, 'g'); break;
        case 'm': least = whole(value, 2, LIMIT, 'm'); break;
        case 'w': width = whole(value, 0, 64, 'w'); break;
        case 'f': {
            FILE *file = fopen(value, "r");
            if (!file)
                fail("cannot read", value);
            given = 1;
            stream(&set, file);
            fclose(file);
            break;
        }
        default:
            steps[number_of_steps].how = word[1];
            steps[number_of_steps++].what = value;
        }
    }
    if (!given)
        stream(&set, stdin);
    settle(&set);
    for (k = 0; k < number_of_steps; k++) {
        other = set_of(steps[k].what);
        if (steps[k].how == 'u') {
            size_t i;
            for (i = 0; i < other.count; i++)
                add(&set, other.at[i].low, other.at[i].high);
            settle(&set);
        } else {
            if (steps[k].how == 'x')
                other = complement(&other);
            set = both(&set, &other);
        }
    }
    if (gap && set.count) {
        size_t from, to = 0;
        for (from = 1; from < set.count; from++)
            if (set.at[from].low - set.at[to].high - 1 <= gap)
                set.at[to].high = set.at[from].high;
            else
                set.at[++to] = set.at[from];
        set.count = to + 1;
    }
    for (k = 0; k < set.count; k++)
        total += set.at[k].high - set.at[k].low + 1;
    if (quiet)
        return set.count == 0;
    if (summary) {
        printf("numbers %ld\nranges %zu\n", total, set.count);
        if (set.count)
            printf("lowest %ld\nhighest %ld\n", set.at[0].low, set.at[set.count - 1].high);
        return set.count == 0;
    }
    if (counting) {
        printf("%ld\n", total);
        return set.count == 0;
    }
    if (expand && total > MANY)
        fail("too many numbers to expand", NULL);
    for (k = 0; k < set.count; k++)
        put_range(set.at[descending ? set.count - 1 - k : k], &first);
    if (set.count)
        putchar('\n');
    return set.count == 0;
}
