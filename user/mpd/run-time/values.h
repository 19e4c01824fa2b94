/* The values of MPD: strings, arrays, numbers, input and output. */
#ifndef MPD_VALUES_H
#define MPD_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int32_t mpd_int;
typedef unsigned char mpd_char;
typedef double mpd_real;
typedef FILE *mpd_file;

/* Arithmetic that can fail. */
mpd_int mpd_divide(mpd_int a, mpd_int b, const char *location);
mpd_int mpd_remainder(mpd_int a, mpd_int b, const char *location);
mpd_int mpd_modulo(mpd_int a, mpd_int b, const char *location);
mpd_int mpd_power(mpd_int a, mpd_int b, const char *location);
mpd_real mpd_divide_real(mpd_real a, mpd_real b, const char *location);
mpd_real mpd_remainder_real(mpd_real a, mpd_real b, const char *location);
mpd_real mpd_modulo_real(mpd_real a, mpd_real b, const char *location);
mpd_real mpd_power_real(mpd_real a, mpd_real b, const char *location);
mpd_real mpd_power_int(mpd_real a, mpd_int b, const char *location);
mpd_real mpd_sqrt(mpd_real x, const char *location);
mpd_real mpd_log(mpd_real x, const char *location);
mpd_real mpd_round(mpd_real x);
mpd_real mpd_random(mpd_real low, mpd_real high);
void mpd_seed(mpd_real seed);
mpd_int mpd_shift(mpd_int a, mpd_int by, bool left);

/*
 * Strings. A variable is its length and room for as many characters as its type says; `struct mpd_reference` is such a
 * variable with its maximum. A text is what an expression gives: characters that are somewhere.
 */
struct mpd_text {
    const char *data;
    mpd_int length;
};

struct mpd_string { /* the beginning of every string variable */
    mpd_int length;
    char data[];
};

struct mpd_reference {
    struct mpd_string *string;
    mpd_int maximum;
};

#define MPD_STRING(n)             \
    struct mpd_string_##n {       \
        mpd_int length;           \
        char data[(n) ? (n) : 1]; \
    }
#define MPD_REFERENCE(variable, maximum) ((struct mpd_reference){(struct mpd_string *)(void *)&(variable), maximum})
#define MPD_TEXT(literal) ((struct mpd_text){literal, sizeof(literal) - 1})

static inline struct mpd_text mpd_text(struct mpd_reference s)
{
    return (struct mpd_text){s.string->data, s.string->length};
}

void mpd_assign_text(struct mpd_reference to, struct mpd_text text, const char *location);
struct mpd_text mpd_concatenate(struct mpd_text a, struct mpd_text b);
struct mpd_text mpd_character(mpd_char c);
mpd_char mpd_char_at(struct mpd_text text, mpd_int i, const char *location);
mpd_char *mpd_char_in(struct mpd_text text, mpd_int i, const char *location);
struct mpd_text mpd_slice_text(struct mpd_text text, mpd_int first, mpd_int last, const char *location);
struct mpd_text mpd_slice_text_on(struct mpd_text text, mpd_int first, const char *location);
/* To a part of a string variable. */
void mpd_assign_part(struct mpd_text part, struct mpd_text text, const char *location);
int mpd_compare(struct mpd_text a, struct mpd_text b);
char *mpd_put_int(char *at, mpd_int n); /* the end of its digits */
const char *mpd_c_string(struct mpd_text text);
struct mpd_text mpd_of_c(const char *text);

/* Arrays: where the elements are, and for each dimension its lower bound, how many there are, and how far apart. */
#define MPD_DIMENSIONS 4

struct mpd_array {
    char *data;
    struct mpd_dimension {
        mpd_int low;
        uint32_t count;
        int32_t stride;
    } d[MPD_DIMENSIONS];
};

_Noreturn void mpd_out_of_bounds(mpd_int i, const struct mpd_dimension *d, const char *location);

static inline int32_t mpd_offset(const struct mpd_dimension *d, mpd_int i, const char *location)
{
    uint32_t k = (uint32_t)i - (uint32_t)d->low;
    if (k >= d->count)
        mpd_out_of_bounds(i, d, location);
    return (int32_t)k * d->stride;
}

static inline void *mpd_at1(const struct mpd_array *a, mpd_int i, const char *location)
{
    return a->data + mpd_offset(&a->d[0], i, location);
}

static inline void *mpd_at2(const struct mpd_array *a, mpd_int i, mpd_int j, const char *location)
{
    return a->data + mpd_offset(&a->d[0], i, location) + mpd_offset(&a->d[1], j, location);
}

static inline void *mpd_at3(const struct mpd_array *a, mpd_int i, mpd_int j, mpd_int k, const char *location)
{
    return a->data + mpd_offset(&a->d[0], i, location) + mpd_offset(&a->d[1], j, location) +
           mpd_offset(&a->d[2], k, location);
}

static inline void *mpd_at4(const struct mpd_array *a, mpd_int i, mpd_int j, mpd_int k, mpd_int l, const char *location)
{
    return (char *)mpd_at3(a, i, j, k, location) + mpd_offset(&a->d[3], l, location);
}

/* `bounds` are pairs; elements are cleared. `list` is whose memory it is; null: the caller frees it. */
struct mpd_array mpd_make_array(void **list, uint32_t size, int dims, const mpd_int *bounds, const char *location);
void mpd_free_array(struct mpd_array *a);
/* Another array of the same elements, made to be freed; its lower bounds may differ. */
struct mpd_array mpd_copy_array(const struct mpd_array *a, uint32_t size, int dims);
/* Another one among the temporaries. */
struct mpd_array mpd_settled_array(const struct mpd_array *a, uint32_t size, int dims);
void mpd_assign_array(const struct mpd_array *to, const struct mpd_array *from, uint32_t size, int dims,
                      const char *location);
/* As a parameter has it: lower bound, and upper one if it is told (`known`). */
void mpd_rebase(struct mpd_array *a, int dim, mpd_int low, mpd_int high, bool known, const char *location);
struct mpd_array mpd_inline_array(void *data, uint32_t size, int dims, const mpd_int *bounds);
/* A slice: for each dimension its bounds, and which of them are told; others are the array's. MPD_ONE: a subscript. */
#define MPD_FIRST 1
#define MPD_LAST 2
#define MPD_ONE 4
struct mpd_array mpd_slice(const struct mpd_array *a, int dims, const mpd_int *bounds, const int *told,
                           const char *location);
mpd_int mpd_low(const struct mpd_array *a, int dims, mpd_int dim, const char *location);
mpd_int mpd_high(const struct mpd_array *a, int dims, mpd_int dim, const char *location);

static inline struct mpd_array mpd_chars(struct mpd_text text)
{
    return (struct mpd_array){.data = (char *)text.data, .d = {{1, (uint32_t)text.length, 1}}};
}

struct mpd_text mpd_text_of_chars(const struct mpd_array *chars);

/* An array that is made of its elements. */
struct mpd_constructor {
    char *data;
    uint32_t size, room, used, count, inner;
    struct mpd_array element;
};

void mpd_construct(struct mpd_constructor *c, uint32_t size);
void mpd_add(struct mpd_constructor *c, mpd_int times, const void *element);
void mpd_add_array(struct mpd_constructor *c, mpd_int times, const struct mpd_array *element, int dims,
                   const char *location);
struct mpd_array mpd_constructed(struct mpd_constructor *c, int inner_dims);

/* Pointers. */
void *mpd_to(void *pointer, const char *location); /* an error if it is null */
void *mpd_new(size_t size, const char *location);

/* Conversions. */
struct mpd_text mpd_text_of_int(mpd_int n);
struct mpd_text mpd_text_of_bool(bool b);
struct mpd_text mpd_text_of_real(mpd_real x);
struct mpd_text mpd_text_of_pointer(const void *p);
mpd_int mpd_int_of_text(struct mpd_text text, const char *location);
mpd_real mpd_strtod(const char *text, char **end); /* as C's, with little of the process's stack */
mpd_real mpd_real_of_text(struct mpd_text text, const char *location);
bool mpd_bool_of_text(struct mpd_text text, const char *location);
mpd_int mpd_int_of_real(mpd_real x, const char *location);
mpd_char mpd_char_of_int(mpd_int n, const char *location);
mpd_int mpd_enum_of_int(mpd_int n, mpd_int last, const char *location);

/* Input and output. `to` null: the file of the statement is null, an error. */
void mpd_write_text(mpd_file to, struct mpd_text text, const char *location);
mpd_int mpd_read_int(mpd_file from, mpd_int *n, const char *location); /* how many were read: 1 or 0; -1 at the end */
mpd_int mpd_read_real(mpd_file from, mpd_real *x, const char *location);
mpd_int mpd_read_bool(mpd_file from, bool *b, const char *location);
mpd_int mpd_read_char(mpd_file from, mpd_char *c, const char *location);
mpd_int mpd_read_string(mpd_file from, struct mpd_reference s, const char *location);
mpd_int mpd_get_string(mpd_file from, struct mpd_reference s, const char *location); /* how many characters */
mpd_int mpd_get_chars(mpd_file from, const struct mpd_array *chars, const char *location);

/* Formats: a piece for one value, and the next one. Without a file a text is made, which the end gives. */
struct mpd_format {
    mpd_file to;
    struct mpd_text rest, made;
    mpd_int room;
};

struct mpd_format mpd_format(mpd_file to, struct mpd_text format, const char *location);
struct mpd_format mpd_format_string(struct mpd_text format);
void mpd_format_int(struct mpd_format *f, mpd_int n, const char *location);
void mpd_format_real(struct mpd_format *f, mpd_real x, const char *location);
void mpd_format_text(struct mpd_format *f, struct mpd_text text, const char *location);
void mpd_format_bool(struct mpd_format *f, bool b, const char *location);
struct mpd_text mpd_format_end(struct mpd_format *f, const char *location);

/* Input by a format, of a file or of a text; the end gives how many values were read, -1 for the end of the input. */
struct mpd_scan {
    mpd_file from;
    struct mpd_text text, rest;
    mpd_int count;
    bool ended;
};

struct mpd_scan mpd_scan(mpd_file from, struct mpd_text format, const char *location);
struct mpd_scan mpd_scan_text(struct mpd_text text, struct mpd_text format);
void mpd_scan_int(struct mpd_scan *s, mpd_int *to, const char *location);
void mpd_scan_real(struct mpd_scan *s, mpd_real *to, const char *location);
void mpd_scan_bool(struct mpd_scan *s, bool *to, const char *location);
void mpd_scan_char(struct mpd_scan *s, mpd_char *to, const char *location);
void mpd_scan_string(struct mpd_scan *s, struct mpd_reference to, const char *location);
mpd_int mpd_scan_end(struct mpd_scan *s, const char *location);

mpd_file mpd_open(struct mpd_text name, mpd_int mode);
void mpd_close(mpd_file file, const char *location);
void mpd_flush(mpd_file file, const char *location);
bool mpd_remove(struct mpd_text name);
mpd_int mpd_seek(mpd_file file, mpd_int how, mpd_int offset, const char *location);
mpd_int mpd_where(mpd_file file, const char *location);
mpd_int mpd_numargs(void);
mpd_int mpd_getarg_text(mpd_int n, struct mpd_text *text);

#endif
