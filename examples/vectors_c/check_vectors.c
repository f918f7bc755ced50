/* Read burnpy's portable vectors (json) and write what this file's own bilinear and nearest make of them.

   Usage: check_vectors DIR > results.json

   Not one line of Python, and no library: manifest.json says what each vector is, DIR/<file> holds its numbers, one vector a
   line. Modes that this program lacks are left out of the results. Then: burnpy vectors check DIR --results results.json */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char id[96], file[128], mode[24], direction[16];
    int align_corners, antialias;
    long shape[4], size[2];
} Vector;

static char *slurp(const char *directory, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (!file) { perror(path); exit(2); }
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    if (!text || fread(text, 1, (size_t)length, file) != (size_t)length) { perror(path); exit(2); }
    text[length] = 0;
    fclose(file);
    return text;
}

/* The value of "key" after `from`; the files have every key once an object, and no spaces that matter. */
static const char *value_of(const char *from, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *found = strstr(from, quoted);
    if (!found) { fprintf(stderr, "no %s\n", quoted); exit(2); }
    found += strlen(quoted);
    return found + strspn(found, " \n");
}

static void text_of(const char *from, const char *key, char *into, size_t room) {
    const char *start = value_of(from, key) + 1;
    size_t length = strcspn(start, "\"");
    if (length >= room) exit(2);
    memcpy(into, start, length);
    into[length] = 0;
}

static void numbers_of(const char *from, const char *key, long *into, int count) {
    const char *at = value_of(from, key) + 1;
    for (int i = 0; i < count; i++) {
        char *end;
        into[i] = strtol(at, &end, 10);
        at = end + strspn(end, " ,\n");
    }
}

static double *doubles_of(const char *from, const char *key, long count) {
    double *values = malloc(sizeof *values * (size_t)count);
    const char *at = value_of(from, key) + 1;
    for (long i = 0; i < count; i++) {
        char *end;
        values[i] = strtod(at, &end);
        at = end + strspn(end, " ,");
    }
    return values;
}

/* Two taps of output o: nearest has the second with weight 0. Coordinates are fractions p/q, floors are of integers. */
static void taps(const Vector *v, long o, long n, long m, long *i, long *j, double *t) {
    *t = 0;
    if (!strcmp(v->mode, "nearest")) { *i = *j = o * n / m; return; }
    if (!strcmp(v->mode, "nearest_exact")) { *i = *j = (2 * o + 1) * n / (2 * m); return; }
    long p = v->align_corners ? (m > 1 ? o * (n - 1) : 0) : (2 * o + 1) * n - m;
    long q = v->align_corners ? (m > 1 ? m - 1 : 1) : 2 * m;
    if (p < 0) p = 0;
    if (p > (n - 1) * q) p = (n - 1) * q;
    *i = p / q;
    *j = *i + 1 < n ? *i + 1 : *i;
    *t = (double)(p % q) / (double)q;
}

/* Resize along one axis of (outer, n, inner), or hand gradients back from m to n. */
static double *along(const Vector *v, const double *x, long outer, long n, long m, long inner, int backward) {
    double *y = calloc((size_t)(outer * (backward ? n : m) * inner + 1), sizeof *y);
    for (long a = 0; a < outer; a++)
        for (long o = 0; o < m; o++) {
            long i, j;
            double t;
            taps(v, o, n, m, &i, &j, &t);
            for (long b = 0; b < inner; b++) {
                long out = (a * m + o) * inner + b, first = (a * n + i) * inner + b, second = (a * n + j) * inner + b;
                if (backward) {
                    y[first] += (1 - t) * x[out];
                    y[second] += t * x[out];
                } else {
                    y[out] = (1 - t) * x[first] + t * x[second];
                }
            }
        }
    return y;
}

static void answer(const Vector *v, const char *line) {
    int backward = !strcmp(v->direction, "backward");
    long images = v->shape[0] * v->shape[1], h = v->shape[2], w = v->shape[3], mh = v->size[0], mw = v->size[1];
    double *x = doubles_of(line, "source", images * (backward ? mh * mw : h * w));
    double *rows = along(v, x, images, h, mh, backward ? mw : w, backward);
    double *y = along(v, rows, images * (backward ? h : mh), w, mw, 1, backward);
    long count = images * (backward ? h * w : mh * mw);
    printf("{\"id\": \"%s\", \"result\": [", v->id);
    for (long i = 0; i < count; i++) printf("%s%.17g", i ? ", " : "", y[i]);
    printf("]}\n");
    free(x);
    free(rows);
    free(y);
}

int main(int argc, char **argv) {
    if (argc != 2) { fprintf(stderr, "usage: %s DIR\n", argv[0]); return 2; }
    char *manifest = slurp(argv[1], "manifest.json");
    if (strtol(value_of(manifest, "version"), NULL, 10) != 1) { fprintf(stderr, "version 1 expected\n"); return 2; }
    for (const char *at = strstr(manifest, "\"vectors\":"); (at = strstr(at, "\"id\":")); at++) {
        Vector v;
        text_of(at, "id", v.id, sizeof v.id);
        text_of(at, "file", v.file, sizeof v.file);
        text_of(at, "mode", v.mode, sizeof v.mode);
        text_of(at, "direction", v.direction, sizeof v.direction);
        v.align_corners = *value_of(at, "align_corners") == 't';
        v.antialias = *value_of(at, "antialias") == 't';
        numbers_of(at, "shape", v.shape, 4);
        numbers_of(at, "output_size", v.size, 2);
        if (v.antialias || !strcmp(v.mode, "bicubic") || !strcmp(v.mode, "lanczos3")) continue;
        char *lines = slurp(argv[1], v.file), quoted[128];
        snprintf(quoted, sizeof quoted, "\"id\": \"%s\"", v.id);
        const char *line = strstr(lines, quoted);
        if (!line) { fprintf(stderr, "no %s in %s\n", v.id, v.file); return 2; }
        answer(&v, line);
        free(lines);
    }
    free(manifest);
    return 0;
}
