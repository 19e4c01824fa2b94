/* Input and output of MPD: files, formats, arguments. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "mpd.h"

/* Those that are open: what is closed must not be used. */
enum use { NOTHING, READS, WRITES };

static struct open {
    struct open *next;
    mpd_file file;
    enum use last;
} *opened;
static bool standard_closed[3];

static struct open **find_open(mpd_file file)
{
    struct open **at = &opened;
    while (*at && (*at)->file != file)
        at = &(*at)->next;
    return at;
}

static int standard(mpd_file file)
{
    return file == stdin ? 0 : file == stdout ? 1 : file == stderr ? 2 : -1;
}

/* C wants a seek between reading and writing. */
static void open_file(mpd_file file, enum use how, const char *location)
{
    if (!file)
        mpd_error(location, "a file is null");
    int number = standard(file);
    bool is_open, turns = false;
    mpd_exclude(MPD_FILES);
    if (number >= 0) {
        is_open = !standard_closed[number];
    } else {
        struct open *one = *find_open(file);
        is_open = one != NULL;
        if (is_open && how) {
            turns = one->last && how != one->last;
            one->last = how;
        }
    }
    mpd_admit(MPD_FILES);
    if (!is_open)
        mpd_error(location, "a file is closed");
    if (number >= 0 && how == READS)
        fflush(stdout);
    if (turns)
        fseek(file, 0, SEEK_CUR);
}

void mpd_usable(mpd_file file, const char *location)
{
    open_file(file, NOTHING, location);
}

static void put_text(mpd_file to, struct mpd_text text)
{
    for (mpd_int i = 0; i < text.length; i++)
        putc(text.data[i], to);
}

void mpd_write_text(mpd_file to, struct mpd_text text, const char *location)
{
    open_file(to, WRITES, location);
    put_text(to, text);
}

#define WORD 320 /* as long as a number may be */

/* A word between blanks; its length, or -1 at the end of the file. One that is too long is none: 0. */
static int read_word(mpd_file from, char *word, const char *location)
{
    open_file(from, READS, location);
    int c, n = 0;
    do {
        c = getc(from);
    } while (c != EOF && isspace(c));
    if (c == EOF)
        return -1;
    for (; c != EOF && !isspace(c); c = getc(from)) {
        if (n < WORD)
            word[n++] = (char)c;
    }
    if (c != EOF)
        ungetc(c, from);
    if (n == WORD)
        n = 0;
    word[n] = 0;
    return n;
}

mpd_int mpd_read_int(mpd_file from, mpd_int *n, const char *location)
{
    char *word = mpd_temporary(WORD), *end_of_it;
    int length = read_word(from, word, location);
    if (length <= 0)
        return length;
    long long read = strtoll(word, &end_of_it, 10);
    if (*end_of_it || read != (mpd_int)read)
        return 0;
    *n = (mpd_int)read;
    return 1;
}

mpd_int mpd_read_real(mpd_file from, mpd_real *x, const char *location)
{
    char *word = mpd_temporary(WORD), *end_of_it;
    int length = read_word(from, word, location);
    if (length <= 0)
        return length;
    mpd_real read = mpd_strtod(word, &end_of_it);
    if (*end_of_it)
        return 0;
    *x = read;
    return 1;
}

mpd_int mpd_read_bool(mpd_file from, bool *b, const char *location)
{
    char *word = mpd_temporary(WORD);
    int length = read_word(from, word, location);
    if (length < 0)
        return -1;
    if (strcmp(word, "true") && strcmp(word, "false"))
        return 0;
    *b = word[0] == 't';
    return 1;
}

mpd_int mpd_read_char(mpd_file from, mpd_char *c, const char *location)
{
    open_file(from, READS, location);
    int read = getc(from);
    if (read == EOF)
        return -1;
    *c = (mpd_char)read;
    return 1;
}

/* A line, without its end; what is longer than the variable is left for the next one. */
mpd_int mpd_read_string(mpd_file from, struct mpd_reference s, const char *location)
{
    open_file(from, READS, location);
    int c = getc(from);
    if (c == EOF)
        return -1;
    mpd_int n = 0;
    for (; c != EOF && c != '\n'; c = getc(from)) {
        if (n == s.maximum) {
            ungetc(c, from);
            break;
        }
        s.string->data[n++] = (char)c;
    }
    s.string->length = n;
    return 1;
}

/* As many characters as there is room for, of whatever kind; how many there were, -1 if none but the end. */
mpd_int mpd_get_string(mpd_file from, struct mpd_reference s, const char *location)
{
    open_file(from, READS, location);
    mpd_int n = 0;
    for (int c; n < s.maximum && (c = getc(from)) != EOF; n++)
        s.string->data[n] = (char)c;
    s.string->length = n;
    return n || !s.maximum ? n : -1;
}

mpd_int mpd_get_chars(mpd_file from, const struct mpd_array *chars, const char *location)
{
    open_file(from, READS, location);
    uint32_t n = 0;
    for (int c; n < chars->d[0].count && (c = getc(from)) != EOF; n++)
        chars->data[(int32_t)n * chars->d[0].stride] = (char)c;
    return n || !chars->d[0].count ? (mpd_int)n : -1;
}

/* Formats as C's printf and scanf have them. */

#define WIDEST 512

/* Of a file; null: of a text that is being made. */
struct mpd_format mpd_format(mpd_file to, struct mpd_text format, const char *location)
{
    if (to)
        open_file(to, WRITES, location);
    return (struct mpd_format){.to = to, .rest = format};
}

struct mpd_format mpd_format_string(struct mpd_text format)
{
    return (struct mpd_format){.rest = format, .made = MPD_TEXT("")};
}

static void put_piece(struct mpd_format *f, struct mpd_text piece)
{
    if (f->to) {
        put_text(f->to, piece);
        return;
    }
    if (f->made.length + piece.length > f->room) {
        f->room = 2 * (f->made.length + piece.length);
        char *data = mpd_temporary((size_t)f->room);
        if (f->made.length)
            memcpy(data, f->made.data, (size_t)f->made.length);
        f->made.data = data;
    }
    if (piece.length)
        memcpy((char *)f->made.data + f->made.length, piece.data, (size_t)piece.length);
    f->made.length += piece.length;
}

static char next_of(struct mpd_text *format)
{
    if (!format->length)
        return 0;
    format->length--;
    return *format->data++;
}

static int number_of(struct mpd_text *format, const char *location)
{
    int n = 0;
    while (format->length && isdigit((unsigned char)*format->data)) {
        n = 10 * n + next_of(format) - '0';
        if (n > WIDEST)
            mpd_error(location, "a width or a precision of a format is more than 512");
    }
    return n;
}

struct directive {
    char flags[6];
    int width, precision; /* precision -1: none is told */
    char letter;
};

/* Writes what is before the next directive, and reads that. */
static struct directive directive(struct mpd_format *f, const char *letters, const char *what, const char *location)
{
    struct mpd_text *rest = &f->rest;
    for (;; next_of(rest)) {
        if (!rest->length)
            mpd_error(location, "a format has no directive for this value");
        if (*rest->data == '%' && next_of(rest) && (!rest->length || *rest->data != '%'))
            break;
        put_piece(f, (struct mpd_text){rest->data, 1});
    }
    struct directive d = {.precision = -1};
    for (int n = 0; rest->length && strchr("-+ #0", *rest->data);) {
        char flag = next_of(rest);
        if (!strchr(d.flags, flag))
            d.flags[n++] = flag;
    }
    d.width = number_of(rest, location);
    if (rest->length && *rest->data == '.') {
        next_of(rest);
        d.precision = number_of(rest, location);
    }
    d.letter = next_of(rest);
    if (!d.letter)
        mpd_error(location, "a directive of a format has no end");
    if (!strchr(letters, d.letter))
        mpd_error(location, what);
    return d;
}

/* The directive as C's printf wants it. */
static void c_directive(char piece[24], const struct directive *d)
{
    char *at = piece;
    *at++ = '%';
    size_t flags = strlen(d->flags);
    memcpy(at, d->flags, flags);
    at += flags;
    if (d->width)
        at = mpd_put_int(at, d->width);
    if (d->precision >= 0) {
        *at++ = '.';
        at = mpd_put_int(at, d->precision);
    }
    *at++ = d->letter;
    *at = 0;
}

#define NUMBER (2 * WIDEST) /* as long as a number becomes */

struct number {
    char *made;
    const char *piece;
    bool is_real;
    mpd_int n;
    mpd_real x;
    int length;
};

static void format_number(void *argument)
{
    struct number *n = argument;
    n->length = n->is_real ? snprintf(n->made, NUMBER, n->piece, n->x) : snprintf(n->made, NUMBER, n->piece, n->n);
}

static void put_number(struct mpd_format *f, const struct directive *d, struct number n)
{
    char piece[24];
    c_directive(piece, d);
    n.piece = piece;
    n.made = mpd_temporary(NUMBER);
    mpd_on_large_stack(format_number, &n);
    put_piece(f, (struct mpd_text){n.made, n.length});
}

void mpd_format_int(struct mpd_format *f, mpd_int n, const char *location)
{
    struct directive d = directive(f, "dixXouc", "a format's directive is not of an int", location);
    put_number(f, &d, (struct number){.n = n});
}

void mpd_format_real(struct mpd_format *f, mpd_real x, const char *location)
{
    struct directive d = directive(f, "feEgG", "a format's directive is not of a real", location);
    put_number(f, &d, (struct number){.is_real = true, .x = x});
}

static void put_blanks(struct mpd_format *f, int n)
{
    for (; n > 0; n--)
        put_piece(f, MPD_TEXT(" "));
}

static void format_text(struct mpd_format *f, struct mpd_text text, const char *letters, const char *location)
{
    struct directive d = directive(f, letters, "a format's directive is not of a string", location);
    if (d.precision >= 0 && d.precision < text.length)
        text.length = d.precision;
    bool left = strchr(d.flags, '-');
    put_blanks(f, left ? 0 : d.width - text.length);
    put_piece(f, text);
    put_blanks(f, left ? d.width - text.length : 0);
}

void mpd_format_text(struct mpd_format *f, struct mpd_text text, const char *location)
{
    format_text(f, text, "s", location);
}

void mpd_format_bool(struct mpd_format *f, bool b, const char *location)
{
    format_text(f, mpd_text_of_bool(b), "sb", location);
}

struct mpd_text mpd_format_end(struct mpd_format *f, const char *location)
{
    while (f->rest.length) {
        if (*f->rest.data == '%' && next_of(&f->rest) && (!f->rest.length || *f->rest.data != '%'))
            mpd_error(location, "a format has a directive more than there are values");
        put_piece(f, (struct mpd_text){f->rest.data, 1});
        next_of(&f->rest);
    }
    return f->made;
}

/* Reads as a format says; after a value that does not fit nothing more is read. */
struct mpd_scan mpd_scan(mpd_file from, struct mpd_text format, const char *location)
{
    open_file(from, READS, location);
    return (struct mpd_scan){.from = from, .rest = format};
}

struct mpd_scan mpd_scan_text(struct mpd_text text, struct mpd_text format)
{
    return (struct mpd_scan){.text = text, .rest = format};
}

static int peek(struct mpd_scan *s)
{
    if (!s->from)
        return s->text.length ? (unsigned char)*s->text.data : EOF;
    int c = getc(s->from);
    if (c != EOF)
        ungetc(c, s->from);
    return c;
}

static void step(struct mpd_scan *s)
{
    if (s->from) {
        getc(s->from);
    } else {
        s->text.data++;
        s->text.length--;
    }
}

static void skip_blanks(struct mpd_scan *s)
{
    while (isspace(peek(s)))
        step(s);
}

/* It ends here: at the end of the input, or where that is not what the format says. */
static bool end_scan(struct mpd_scan *s)
{
    if (peek(s) == EOF && !s->count)
        s->count = -1;
    s->ended = true;
    return false;
}

struct field {
    int width; /* 0: any */
    bool left_out;
    char letter;
    const char *set; /* of [...] */
    int set_length;
};

static bool in_set(const struct field *d, int c)
{
    bool but = d->set_length && d->set[0] == '^', found = false;
    for (int i = but; i < d->set_length && !found; i++) {
        if (i + 2 < d->set_length && d->set[i + 1] == '-') {
            found = (unsigned char)d->set[i] <= c && c <= (unsigned char)d->set[i + 2];
            i += 2;
        } else {
            found = (unsigned char)d->set[i] == c;
        }
    }
    return found != but;
}

static bool belongs(const struct field *d, int c, int n)
{
    static const char *const hexadecimal = "0123456789abcdefABCDEF";
    if (c == EOF || (d->width && n == d->width))
        return false;
    switch (d->letter) {
    case 'c': return n < (d->width ? d->width : 1);
    case '[': return in_set(d, c);
    case 's':
    case 'b': return !isspace(c);
    case 'o':
    case 'q': return (!n && (c == '-' || c == '+')) || (c >= '0' && c <= '7');
    case 'x': return (!n && (c == '-' || c == '+')) || (c && strchr(hexadecimal, c));
    case 'e':
    case 'f':
    case 'g': return c && strchr("+-.0123456789eE", c);
    }
    return (!n && (c == '-' || c == '+')) || isdigit(c);
}

/* The characters of a field; what is longer than a number may be is no number. False: none, the end. */
static bool take_field(struct mpd_scan *s, const struct field *d, struct mpd_reference to, char *word)
{
    if (!strchr("c[", d->letter))
        skip_blanks(s);
    int n = 0, kept = 0;
    for (int c; belongs(d, c = peek(s), n); n++) {
        step(s);
        if (word && n < WORD - 1)
            word[kept++] = (char)c;
        else if (!word && kept < to.maximum)
            to.string->data[kept++] = (char)c;
    }
    if (!n)
        return end_scan(s);
    if (word)
        word[n < WORD - 1 ? kept : 0] = 0;
    else if (to.string)
        to.string->length = kept;
    return true;
}

/* What is before the next field; fields that are left out are read, too. False: none, it ends here. */
static bool next_field(struct mpd_scan *s, struct field *d, const char *location)
{
    while (!s->ended && s->rest.length) {
        char c = next_of(&s->rest);
        if (isspace((unsigned char)c)) {
            skip_blanks(s);
            continue;
        }
        if (c != '%' || (s->rest.length && *s->rest.data == '%' && next_of(&s->rest))) {
            if (peek(s) != (unsigned char)c)
                return end_scan(s);
            step(s);
            continue;
        }
        *d = (struct field){0};
        d->left_out = s->rest.length && *s->rest.data == '*' && next_of(&s->rest);
        d->width = number_of(&s->rest, location);
        d->letter = next_of(&s->rest);
        if (!d->letter || !strchr("diuoqxefgscb[", d->letter))
            mpd_error(location, "a format has a field of no kind");
        if (d->letter == '[') {
            d->set = s->rest.data;
            int least = s->rest.length && *d->set == '^' ? 2 : 1; /* a bracket that comes first is one of the set */
            while (d->set_length < s->rest.length && (d->set_length < least || d->set[d->set_length] != ']'))
                d->set_length++;
            if (d->set_length >= s->rest.length)
                mpd_error(location, "a field of a format has no end");
            s->rest.data += d->set_length + 1;
            s->rest.length -= d->set_length + 1;
        }
        if (!d->left_out)
            return true;
        take_field(s, d, (struct mpd_reference){NULL, 0}, NULL);
    }
    return false;
}

static bool field(struct mpd_scan *s, struct field *d, const char *letters, const char *location)
{
    if (s->ended)
        return false;
    if (!next_field(s, d, location)) {
        if (!s->ended)
            mpd_error(location, "a format has no field for this variable");
        return false;
    }
    if (!strchr(letters, d->letter))
        mpd_error(location, "a field of a format is not of the variable's type");
    return true;
}

void mpd_scan_int(struct mpd_scan *s, mpd_int *to, const char *location)
{
    struct field d;
    char *word = mpd_temporary(WORD), *end_of_it;
    if (!field(s, &d, "diuoqx", location) || !take_field(s, &d, (struct mpd_reference){NULL, 0}, word))
        return;
    long long n = strtoll(word, &end_of_it, d.letter == 'x' ? 16 : strchr("oq", d.letter) ? 8 : 10);
    if (end_of_it == word || *end_of_it || n != (mpd_int)n) {
        s->ended = true;
        return;
    }
    *to = (mpd_int)n;
    s->count++;
}

void mpd_scan_real(struct mpd_scan *s, mpd_real *to, const char *location)
{
    struct field d;
    char *word = mpd_temporary(WORD), *end_of_it;
    if (!field(s, &d, "efg", location) || !take_field(s, &d, (struct mpd_reference){NULL, 0}, word))
        return;
    mpd_real x = mpd_strtod(word, &end_of_it);
    if (end_of_it == word || *end_of_it) {
        s->ended = true;
        return;
    }
    *to = x;
    s->count++;
}

void mpd_scan_bool(struct mpd_scan *s, bool *to, const char *location)
{
    struct field d;
    char *word = mpd_temporary(WORD);
    if (!field(s, &d, "b", location) || !take_field(s, &d, (struct mpd_reference){NULL, 0}, word))
        return;
    bool is_true = !strcmp(word, "true") || !strcmp(word, "TRUE");
    if (!is_true && strcmp(word, "false") && strcmp(word, "FALSE")) {
        s->ended = true;
        return;
    }
    *to = is_true;
    s->count++;
}

void mpd_scan_char(struct mpd_scan *s, mpd_char *to, const char *location)
{
    struct field d;
    if (!field(s, &d, "cs[", location))
        return;
    if (d.width > 1)
        mpd_error(location, "a field of a format is wider than a character");
    char *word = mpd_temporary(WORD);
    d.width = 1;
    if (!take_field(s, &d, (struct mpd_reference){NULL, 0}, word))
        return;
    *to = (mpd_char)word[0];
    s->count++;
}

/* What is longer than the variable is lost. */
void mpd_scan_string(struct mpd_scan *s, struct mpd_reference to, const char *location)
{
    struct field d;
    if (!field(s, &d, "sc[", location))
        return;
    if (d.letter == 'c' && !d.width)
        d.width = to.maximum;
    if (take_field(s, &d, to, NULL))
        s->count++;
}

mpd_int mpd_scan_end(struct mpd_scan *s, const char *location)
{
    struct field d;
    if (!s->ended && next_field(s, &d, location))
        mpd_error(location, "a format has a field more than there are variables");
    return s->count;
}

mpd_file mpd_open(struct mpd_text name, mpd_int mode)
{
    const char *c = mpd_c_string(name);
    FILE *made = fopen(c, mode == 0 ? "r" : mode == 1 ? "w" : "r+");
    if (!made && mode == 2)
        made = fopen(c, "w+");
    if (made) {
        struct open *one = mpd_allocate(sizeof *one);
        mpd_exclude(MPD_FILES);
        *one = (struct open){opened, made, NOTHING};
        opened = one;
        mpd_admit(MPD_FILES);
    }
    return made;
}

/* The standard ones stay open for what the run-time system says. */
void mpd_close(mpd_file file, const char *location)
{
    open_file(file, NOTHING, location);
    int number = standard(file);
    if (number >= 0) {
        fflush(file);
        mpd_exclude(MPD_FILES);
        standard_closed[number] = true;
        mpd_admit(MPD_FILES);
        return;
    }
    mpd_exclude(MPD_FILES);
    struct open **at = find_open(file), *one = *at;
    if (one)
        *at = one->next;
    mpd_admit(MPD_FILES);
    if (!one)
        mpd_error(location, "a file is closed");
    free(one);
    fclose(file);
}

void mpd_flush(mpd_file file, const char *location)
{
    open_file(file, NOTHING, location);
    fflush(file);
}

bool mpd_remove(struct mpd_text name)
{
    return !remove(mpd_c_string(name));
}

mpd_int mpd_seek(mpd_file file, mpd_int how, mpd_int offset, const char *location)
{
    open_file(file, NOTHING, location);
    fseek(file, offset, how == 0 ? SEEK_SET : how == 1 ? SEEK_CUR : SEEK_END);
    return (mpd_int)ftell(file);
}

mpd_int mpd_where(mpd_file file, const char *location)
{
    open_file(file, NOTHING, location);
    return (mpd_int)ftell(file);
}

mpd_int mpd_numargs(void)
{
    return mpd_argc > 0 ? mpd_argc - 1 : 0;
}

mpd_int mpd_getarg_text(mpd_int n, struct mpd_text *text)
{
    if (n < 0 || n >= mpd_argc)
        return -1;
    *text = mpd_of_c(mpd_argv[n]);
    return 1;
}
