/* The values of MPD: strings, arrays, numbers, input and output. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "mpd.h"

/* Arithmetic. */

mpd_int mpd_divide(mpd_int a, mpd_int b, const char *location)
{
    if (!b)
        mpd_error(location, "division by zero");
    return b == -1 ? (mpd_int)(0 - (uint32_t)a) : a / b;
}

mpd_int mpd_remainder(mpd_int a, mpd_int b, const char *location)
{
    if (!b)
        mpd_error(location, "division by zero");
    return b == -1 ? 0 : a % b;
}

/* Of the divisor's sign, unlike the remainder. */
mpd_int mpd_modulo(mpd_int a, mpd_int b, const char *location)
{
    mpd_int r = mpd_remainder(a, b, location);
    return r && (r < 0) != (b < 0) ? r + b : r;
}

mpd_int mpd_power(mpd_int a, mpd_int b, const char *location)
{
    if (b < 0)
        mpd_error(location, "an integer to a negative power");
    uint32_t result = 1, base = (uint32_t)a;
    for (uint32_t n = (uint32_t)b; n; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return (mpd_int)result;
}

mpd_real mpd_divide_real(mpd_real a, mpd_real b, const char *location)
{
    if (b == 0)
        mpd_error(location, "division by zero");
    return a / b;
}

mpd_real mpd_remainder_real(mpd_real a, mpd_real b, const char *location)
{
    if (b == 0)
        mpd_error(location, "division by zero");
    return fmod(a, b);
}

mpd_real mpd_modulo_real(mpd_real a, mpd_real b, const char *location)
{
    mpd_real r = mpd_remainder_real(a, b, location);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

mpd_real mpd_power_int(mpd_real a, mpd_int b, const char *location)
{
    mpd_real result = 1, base = a;
    for (uint32_t n = b < 0 ? 0 - (uint32_t)b : (uint32_t)b; n; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return b < 0 ? mpd_divide_real(1, result, location) : result;
}

mpd_real mpd_power_real(mpd_real a, mpd_real b, const char *location)
{
    if (a < 0 && b != floor(b))
        mpd_error(location, "a negative number to a power that is not whole");
    return pow(a, b);
}

mpd_real mpd_sqrt(mpd_real x, const char *location)
{
    if (x < 0)
        mpd_error(location, "the square root of a negative number");
    return sqrt(x);
}

mpd_real mpd_log(mpd_real x, const char *location)
{
    if (x <= 0)
        mpd_error(location, "the logarithm of a number that is not positive");
    return log(x);
}

mpd_real mpd_round(mpd_real x)
{
    mpd_real whole = x < 0 ? ceil(x) : floor(x), rest = x - whole; /* x + 0.5 would round, too */
    return rest <= -0.5 ? whole - 1 : rest >= 0.5 ? whole + 1 : whole;
}

mpd_int mpd_shift(mpd_int a, mpd_int by, bool left)
{
    uint32_t u = (uint32_t)a;
    if (by < 0 || by > 31)
        return 0;
    return (mpd_int)(left ? u << by : u >> by);
}

/* xorshift: the same numbers on every machine. */
static uint32_t random_state = 2463534242;

void mpd_seed(mpd_real seed)
{
    int64_t whole = seed > -9e18 && seed < 9e18 ? (int64_t)seed : 0;
    uint32_t state = (uint32_t)whole * 2654435761u ^ 2463534242u;
    mpd_exclude(MPD_RANDOM);
    random_state = state ? state : 1;
    mpd_admit(MPD_RANDOM);
}

mpd_real mpd_random(mpd_real low, mpd_real high)
{
    mpd_exclude(MPD_RANDOM);
    uint32_t state = random_state;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    random_state = state;
    mpd_admit(MPD_RANDOM);
    return low + (high - low) * (state / 4294967296.0);
}

/* Strings. */

static struct mpd_text temporary_text(mpd_int length, char **data)
{
    *data = mpd_temporary((size_t)length);
    return (struct mpd_text){*data, length};
}

void mpd_assign_text(struct mpd_reference to, struct mpd_text text, const char *location)
{
    if (text.length > to.maximum)
        mpd_error(location, "a string is longer than the variable's maximum length");
    memmove(to.string->data, text.data, (size_t)text.length);
    to.string->length = text.length;
}

struct mpd_text mpd_concatenate(struct mpd_text a, struct mpd_text b)
{
    char *data;
    struct mpd_text made = temporary_text(a.length + b.length, &data);
    memcpy(data, a.data, (size_t)a.length);
    memcpy(data + a.length, b.data, (size_t)b.length);
    return made;
}

struct mpd_text mpd_character(mpd_char c)
{
    char *data;
    struct mpd_text made = temporary_text(1, &data);
    *data = (char)c;
    return made;
}

mpd_char mpd_char_at(struct mpd_text text, mpd_int i, const char *location)
{
    if (i < 1 || i > text.length)
        mpd_out_of_bounds(i, &(struct mpd_dimension){1, (uint32_t)text.length, 1}, location);
    return (mpd_char)text.data[i - 1];
}

/* Of a variable or of a value. */
mpd_char *mpd_char_in(struct mpd_text text, mpd_int i, const char *location)
{
    mpd_char_at(text, i, location);
    return (mpd_char *)text.data + i - 1;
}

struct mpd_text mpd_slice_text(struct mpd_text text, mpd_int first, mpd_int last, const char *location)
{
    struct mpd_dimension d = {1, (uint32_t)text.length, 1};
    if (first < 1 || first > text.length + 1)
        mpd_out_of_bounds(first, &d, location);
    if (last > text.length)
        mpd_out_of_bounds(last, &d, location);
    return (struct mpd_text){text.data + first - 1, last < first ? 0 : last - first + 1};
}

struct mpd_text mpd_slice_text_on(struct mpd_text text, mpd_int first, const char *location)
{
    return mpd_slice_text(text, first, text.length, location);
}

void mpd_assign_part(struct mpd_text part, struct mpd_text text, const char *location)
{
    if (part.length != text.length)
        mpd_error(location, "what is assigned to a part of a string is not as long as it");
    memmove((char *)part.data, text.data, (size_t)text.length);
}

struct mpd_text mpd_text_of_chars(const struct mpd_array *chars)
{
    char *data;
    struct mpd_text made = temporary_text((mpd_int)chars->d[0].count, &data);
    for (uint32_t i = 0; i < chars->d[0].count; i++)
        data[i] = chars->data[(int32_t)i * chars->d[0].stride];
    return made;
}

int mpd_compare(struct mpd_text a, struct mpd_text b)
{
    int order = memcmp(a.data, b.data, (size_t)(a.length < b.length ? a.length : b.length));
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

const char *mpd_c_string(struct mpd_text text)
{
    char *made = mpd_temporary((size_t)text.length + 1);
    memcpy(made, text.data, (size_t)text.length);
    made[text.length] = 0;
    return made;
}

struct mpd_text mpd_of_c(const char *text)
{
    return (struct mpd_text){text, (mpd_int)strlen(text)};
}

/* Arrays. */

char *mpd_put_int(char *at, mpd_int n)
{
    char text[12], *digit = text + sizeof text;
    uint32_t left = n < 0 ? 0 - (uint32_t)n : (uint32_t)n;
    do {
        *--digit = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (n < 0)
        *--digit = '-';
    size_t length = (size_t)(text + sizeof text - digit);
    memcpy(at, digit, length);
    return at + length;
}

_Noreturn void mpd_out_of_bounds(mpd_int i, const struct mpd_dimension *d, const char *location)
{
    static char what[96];
    mpd_ending();
    char *at = what;
    memcpy(at, "subscript ", 10);
    at = mpd_put_int(at + 10, i);
    memcpy(at, " is out of the bounds ", 22);
    at = mpd_put_int(at + 22, d->low);
    *at++ = ':';
    at = mpd_put_int(at, (mpd_int)((uint32_t)d->low + d->count - 1));
    *at = 0;
    mpd_error(location, what);
}

static uint32_t shape(struct mpd_array *a, uint32_t size, int dims, const mpd_int *bounds, const char *location)
{
    uint64_t count = 1;
    for (int i = dims - 1; i >= 0; i--) {
        int64_t n = (int64_t)bounds[2 * i + 1] - bounds[2 * i] + 1;
        if (n < 0)
            n = 0;
        a->d[i] = (struct mpd_dimension){bounds[2 * i], (uint32_t)n, (int32_t)(count * size)};
        count *= (uint64_t)n;
        if (count * size > 0x7fffffff)
            mpd_error(location, "an array is too large");
    }
    return (uint32_t)count;
}

struct mpd_array mpd_make_array(void **list, uint32_t size, int dims, const mpd_int *bounds, const char *location)
{
    struct mpd_array a = {0};
    size_t bytes = (size_t)shape(&a, size, dims, bounds, location) * size;
    a.data = list ? mpd_keep(list, bytes) : mpd_allocate(bytes);
    return a;
}

void mpd_free_array(struct mpd_array *a)
{
    free(a->data);
}

struct mpd_array mpd_inline_array(void *data, uint32_t size, int dims, const mpd_int *bounds)
{
    struct mpd_array a = {.data = data};
    shape(&a, size, dims, bounds, NULL);
    return a;
}

static void copy(char *to, const struct mpd_dimension *td, const char *from, const struct mpd_dimension *fd,
                 uint32_t size, int dims)
{
    if (!dims) {
        memcpy(to, from, size);
        return;
    }
    if (dims == 1 && td->stride == (int32_t)size && fd->stride == (int32_t)size) {
        memcpy(to, from, (size_t)td->count * size);
        return;
    }
    for (uint32_t i = 0; i < td->count; i++)
        copy(to + (int32_t)i * td->stride, td + 1, from + (int32_t)i * fd->stride, fd + 1, size, dims - 1);
}

struct mpd_array mpd_copy_array(const struct mpd_array *a, uint32_t size, int dims)
{
    mpd_int bounds[2 * MPD_DIMENSIONS];
    for (int i = 0; i < dims; i++) {
        bounds[2 * i] = a->d[i].low;
        bounds[2 * i + 1] = a->d[i].low + (mpd_int)a->d[i].count - 1;
    }
    struct mpd_array made = mpd_make_array(NULL, size, dims, bounds, NULL);
    copy(made.data, made.d, a->data, a->d, size, dims);
    return made;
}

struct mpd_array mpd_settled_array(const struct mpd_array *a, uint32_t size, int dims)
{
    struct mpd_array copied = mpd_copy_array(a, size, dims), made = copied;
    size_t bytes = (size_t)size;
    for (int i = 0; i < dims; i++)
        bytes *= copied.d[i].count;
    made.data = mpd_temporary(bytes);
    memcpy(made.data, copied.data, bytes);
    mpd_free_array(&copied);
    return made;
}

static size_t extent(const struct mpd_array *a, uint32_t size, int dims)
{
    size_t bytes = size;
    for (int i = 0; i < dims; i++) {
        if (!a->d[i].count)
            return 0;
        bytes += (size_t)(a->d[i].count - 1) * (size_t)a->d[i].stride;
    }
    return bytes;
}

void mpd_assign_array(const struct mpd_array *to, const struct mpd_array *from, uint32_t size, int dims,
                      const char *location)
{
    for (int i = 0; i < dims; i++) {
        if (to->d[i].count != from->d[i].count)
            mpd_error(location, "arrays of different sizes");
    }
    size_t to_bytes = extent(to, size, dims), from_bytes = extent(from, size, dims);
    if (!to_bytes || !from_bytes)
        return;
    if (to->data < from->data + from_bytes && from->data < to->data + to_bytes) {
        struct mpd_array between = mpd_copy_array(from, size, dims);
        copy(to->data, to->d, between.data, between.d, size, dims);
        mpd_free_array(&between);
    } else {
        copy(to->data, to->d, from->data, from->d, size, dims);
    }
}

void mpd_rebase(struct mpd_array *a, int dim, mpd_int low, mpd_int high, bool known, const char *location)
{
    if (known && (int64_t)high - low + 1 != (int64_t)a->d[dim].count && (high >= low || a->d[dim].count))
        mpd_error(location, "an array is not as large as the parameter says");
    a->d[dim].low = low;
}

struct mpd_array mpd_slice(const struct mpd_array *a, int dims, const mpd_int *bounds, const int *told,
                           const char *location)
{
    struct mpd_array made = {.data = a->data};
    int left = 0;
    for (int i = 0; i < dims; i++) {
        const struct mpd_dimension *d = &a->d[i];
        mpd_int high = (mpd_int)((uint32_t)d->low + d->count - 1);
        mpd_int first = told[i] & MPD_FIRST ? bounds[2 * i] : d->low;
        mpd_int last = told[i] & MPD_LAST ? bounds[2 * i + 1] : high;
        if (told[i] & MPD_ONE) {
            made.data += mpd_offset(d, bounds[2 * i], location);
            continue;
        }
        if (last >= first) {
            made.data += mpd_offset(d, first, location);
            mpd_offset(d, last, location);
        }
        made.d[left++] = (struct mpd_dimension){1, last < first ? 0 : (uint32_t)(last - first) + 1, d->stride};
    }
    return made;
}

static const struct mpd_dimension *dimension(const struct mpd_array *a, int dims, mpd_int dim, const char *location)
{
    if (dim < 1 || dim > dims)
        mpd_error(location, "the array has no such dimension");
    return &a->d[dim - 1];
}

mpd_int mpd_low(const struct mpd_array *a, int dims, mpd_int dim, const char *location)
{
    return dimension(a, dims, dim, location)->low;
}

mpd_int mpd_high(const struct mpd_array *a, int dims, mpd_int dim, const char *location)
{
    const struct mpd_dimension *d = dimension(a, dims, dim, location);
    return (mpd_int)((uint32_t)d->low + d->count - 1);
}

void mpd_construct(struct mpd_constructor *c, uint32_t size)
{
    *c = (struct mpd_constructor){.size = size};
}

static char *room_for(struct mpd_constructor *c, uint32_t elements)
{
    if (c->used + elements > c->room) {
        uint32_t room = c->room * 2 > c->used + elements ? c->room * 2 : c->used + elements + 8;
        char *data = mpd_temporary((size_t)room * c->size);
        memcpy(data, c->data ? c->data : data, (size_t)c->used * c->size);
        c->data = data;
        c->room = room;
    }
    char *at = c->data + (size_t)c->used * c->size;
    c->used += elements;
    return at;
}

void mpd_add(struct mpd_constructor *c, mpd_int times, const void *element)
{
    for (; times > 0; times--) {
        memcpy(room_for(c, 1), element, c->size);
        c->count++;
    }
}

void mpd_add_array(struct mpd_constructor *c, mpd_int times, const struct mpd_array *element, int dims,
                   const char *location)
{
    uint32_t inner = 1;
    for (int i = 0; i < dims; i++) {
        if (c->count && element->d[i].count != c->element.d[i].count)
            mpd_error(location, "arrays of different sizes");
        inner *= element->d[i].count;
    }
    for (; times > 0; times--) {
        struct mpd_array to = {.data = room_for(c, inner)};
        mpd_int bounds[2 * MPD_DIMENSIONS];
        for (int i = 0; i < dims; i++) {
            bounds[2 * i] = 1;
            bounds[2 * i + 1] = (mpd_int)element->d[i].count;
        }
        shape(&to, c->size, dims, bounds, location);
        copy(to.data, to.d, element->data, element->d, c->size, dims);
        c->element = to;
        c->count++;
    }
}

struct mpd_array mpd_constructed(struct mpd_constructor *c, int inner_dims)
{
    struct mpd_array made = {.data = c->data};
    uint32_t inner = 1;
    for (int i = inner_dims; i > 0; i--) {
        made.d[i] = c->element.d[i - 1];
        inner *= made.d[i].count;
    }
    made.d[0] = (struct mpd_dimension){1, c->count, (int32_t)(inner * c->size)};
    return made;
}

/* Pointers. */

void *mpd_to(void *pointer, const char *location)
{
    if (!pointer)
        mpd_error(location, "a pointer is null");
    return pointer;
}

void *mpd_new(size_t size, const char *location)
{
    void *made = calloc(1, size ? size : 1);
    if (!made)
        mpd_error(location, "there is no memory left");
    return made;
}

/* Conversions. */

struct mpd_text mpd_text_of_int(mpd_int n)
{
    char *data = mpd_temporary(12);
    return (struct mpd_text){data, (mpd_int)(mpd_put_int(data, n) - data)};
}

struct mpd_text mpd_text_of_bool(bool b)
{
    return b ? MPD_TEXT("true") : MPD_TEXT("false");
}

static mpd_real power_of_ten(int n)
{
    mpd_real p = 1;
    while (n--)
        p *= 10; /* exact up to 22 */
    return p;
}

/* The six first digits of a positive number, the first of which is worth 10 ** *exponent. */
static uint32_t six_digits(mpd_real x, int *exponent)
{
    int e = 0, more = 0;
    for (; x >= 1e22; x /= 1e16)
        more += 16;
    for (; x < 1e-16; x *= 1e16)
        more -= 16;
    for (mpd_real y = x; y >= 10; y /= 10)
        e++;
    for (mpd_real y = x; y < 1; y *= 10)
        e--;
    for (;; e--) {
        mpd_real scaled = e <= 5 ? x * power_of_ten(5 - e) : x / power_of_ten(e - 5);
        uint32_t n = (uint32_t)scaled;
        mpd_real left = scaled - n;
        n += left > 0.5 || (left == 0.5 && n % 2);
        if (n < 100000)
            continue;
        *exponent = more + e + (n >= 1000000);
        return n >= 1000000 ? n / 10 : n;
    }
}

/* As C's %#g, in one way on all machines. */
struct mpd_text mpd_text_of_real(mpd_real x)
{
    char *data = mpd_temporary(24), *at = data;
    if (x != x)
        return MPD_TEXT("nan");
    if (x < 0) {
        *at++ = '-';
        x = -x;
    }
    if (x > 1.7976931348623157e308) {
        memcpy(at, "inf", 3);
        return (struct mpd_text){data, (mpd_int)(at + 3 - data)};
    }
    int exponent = 0;
    uint32_t n = x > 0 ? six_digits(x, &exponent) : 0;
    char digits[6];
    for (int i = 5; i >= 0; i--, n /= 10)
        digits[i] = (char)('0' + n % 10);
    bool scaled = exponent < -4 || exponent >= 6;
    int before = scaled ? 0 : exponent; /* the digit in front of the point */
    if (before < 0) {
        memcpy(at, "0.0000", 6);
        at += 1 - before;
        memcpy(at, digits, 6);
        at += 6;
    } else {
        memcpy(at, digits, (size_t)before + 1);
        at += before + 1;
        *at++ = '.';
        memcpy(at, digits + before + 1, (size_t)(5 - before));
        at += 5 - before;
    }
    if (scaled) {
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        if (exponent < 0)
            exponent = -exponent;
        if (exponent < 10)
            *at++ = '0';
        at = mpd_put_int(at, exponent);
    }
    return (struct mpd_text){data, (mpd_int)(at - data)};
}

struct mpd_text mpd_text_of_pointer(const void *p)
{
    return p ? MPD_TEXT("pointer") : MPD_TEXT("null");
}

mpd_int mpd_int_of_text(struct mpd_text text, const char *location)
{
    const char *c = mpd_c_string(text);
    char *end_of_it;
    long long n = strtoll(c, &end_of_it, 10);
    while (isspace((unsigned char)*end_of_it))
        end_of_it++;
    if (end_of_it == c || *end_of_it || n != (mpd_int)n)
        mpd_error(location, "this string is no int");
    return (mpd_int)n;
}

struct scanned {
    const char *text;
    char *end;
    mpd_real x;
};

static void scan_real(void *argument)
{
    struct scanned *s = argument;
    s->x = strtod(s->text, &s->end);
}

mpd_real mpd_strtod(const char *text, char **end)
{
    struct scanned s = {.text = text};
    mpd_on_large_stack(scan_real, &s);
    *end = s.end;
    return s.x;
}

mpd_real mpd_real_of_text(struct mpd_text text, const char *location)
{
    const char *c = mpd_c_string(text);
    char *end_of_it;
    mpd_real x = mpd_strtod(c, &end_of_it);
    while (isspace((unsigned char)*end_of_it))
        end_of_it++;
    if (end_of_it == c || *end_of_it)
        mpd_error(location, "this string is no real");
    return x;
}

bool mpd_bool_of_text(struct mpd_text text, const char *location)
{
    if (!mpd_compare(text, MPD_TEXT("true")))
        return true;
    if (mpd_compare(text, MPD_TEXT("false")))
        mpd_error(location, "this string is no bool");
    return false;
}

mpd_int mpd_int_of_real(mpd_real x, const char *location)
{
    if (!(x > -2147483649.0 && x < 2147483648.0))
        mpd_error(location, "this real is outside of what an int can be");
    return (mpd_int)x;
}

mpd_char mpd_char_of_int(mpd_int n, const char *location)
{
    if (n < 0 || n > 255)
        mpd_error(location, "there is no character of this number");
    return (mpd_char)n;
}

mpd_int mpd_enum_of_int(mpd_int n, mpd_int last, const char *location)
{
    if (n < 0 || n > last)
        mpd_error(location, "there is no literal of this number");
    return n;
}
