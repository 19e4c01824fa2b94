/*
 * names FOLDER PROCESSES OPERATIONS SEED: processes make, link, rename and remove names at random, each in a folder of
 * its own beside a model of the results, error by error, and between these all in one folder, where only impossible
 * results are wrong. On any POSIX system with Linux's errors. Prints "names: N operations, 0 failed".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 3
#define DEPTH 3
#define NODES 512

/* The model: names of a folder lead to nodes. */
struct node {
    int is_folder, links, serial;
    struct node *in, *at[NAMES]; /* of a folder: the one above it, and what is in it */
};

struct path {
    int length, name[DEPTH];
    char text[32];
};

static struct node nodes[NODES], *root;
static uint32_t state;
static int used, failed;

static uint32_t below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static struct node *new_node(int is_folder, struct node *in)
{
    for (int tries = 0; tries < NODES; tries++) {
        struct node *n = &nodes[used++ % NODES];
        if (n->links)
            continue;
        *n = (struct node){is_folder, 1, used, in, {0}};
        return n;
    }
    exit(3);
}

static struct path any_path(void)
{
    struct path p = {.length = 1 + (int)below(DEPTH)};
    for (int i = 0; i < p.length; i++) {
        p.name[i] = (int)below(NAMES);
        sprintf(p.text + strlen(p.text), "%s%c", i ? "/" : "", 'a' + p.name[i]);
    }
    return p;
}

/* The folder of a path's last name; 0, with *error. */
static struct node *folder_of(const struct path *p, int *error)
{
    struct node *n = root;
    for (int i = 0; i + 1 < p->length; i++) {
        n = n->at[p->name[i]];
        *error = !n ? ENOENT : !n->is_folder ? ENOTDIR : 0;
        if (*error)
            return 0;
    }
    *error = 0;
    return n;
}

static struct node **place(struct node *folder, const struct path *p)
{
    return &folder->at[p->name[p->length - 1]];
}

static int is_empty(const struct node *n)
{
    for (int i = 0; i < NAMES; i++)
        if (n->at[i])
            return 0;
    return 1;
}

static int is_above(const struct node *n, const struct node *folder)
{
    for (;; folder = folder->in) {
        if (folder == n)
            return 1;
        if (folder == root)
            return 0;
    }
}

static int model_make(const struct path *p, int is_folder, int *serial)
{
    int error;
    struct node *in = folder_of(p, &error);
    if (error)
        return error;
    if (*place(in, p))
        return EEXIST;
    struct node *n = *place(in, p) = new_node(is_folder, in);
    *serial = n->serial;
    return 0;
}

static int model_remove(const struct path *p, int is_folder)
{
    int error;
    struct node *in = folder_of(p, &error);
    if (error)
        return error;
    struct node *n = *place(in, p);
    error = !n                           ? ENOENT
            : is_folder && !n->is_folder ? ENOTDIR
            : !is_folder && n->is_folder ? EISDIR
            : is_folder && !is_empty(n)  ? ENOTEMPTY
                                         : 0;
    if (!error) {
        n->links--;
        *place(in, p) = 0;
    }
    return error;
}

static int model_link(const struct path *p, const struct path *q)
{
    int error;
    struct node *from = folder_of(p, &error), *n = error ? 0 : *place(from, p);
    if (!n)
        return error ? error : ENOENT;
    struct node *to = folder_of(q, &error);
    if (error)
        return error;
    if (*place(to, q))
        return EEXIST;
    if (n->is_folder)
        return EPERM;
    n->links++;
    *place(to, q) = n;
    return 0;
}

static int model_rename(const struct path *p, const struct path *q)
{
    int error;
    struct node *from = folder_of(p, &error);
    if (error)
        return error;
    struct node *to = folder_of(q, &error);
    if (error)
        return error;
    struct node *n = *place(from, p), *old = *place(to, q);
    if (!n)
        return ENOENT;
    if (n->is_folder && is_above(n, to))
        return EINVAL;
    if (old && old->is_folder && is_above(old, from))
        return ENOTEMPTY;
    if (old == n)
        return 0;
    if (old && n->is_folder != old->is_folder)
        return n->is_folder ? ENOTDIR : EISDIR;
    if (old && old->is_folder && !is_empty(old))
        return ENOTEMPTY;
    if (old)
        old->links--;
    *place(from, p) = 0;
    *place(to, q) = n;
    if (n->is_folder)
        n->in = to;
    return 0;
}

static int make_file(const char *path, int serial)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0)
        return -1;
    int n = (int)write(fd, &serial, sizeof serial);
    return close(fd) || n != sizeof serial ? -1 : 0;
}

static void wrong(const char *what, const char *a, const char *b, int is, int should)
{
    failed++;
    printf("%s %s %s: error %d, not %d\n", what, a, b, is, should);
}

static void look(const char *text, const struct node *n)
{
    struct stat s;
    int serial = 0, fd;
    if (stat(text, &s) || !S_ISDIR(s.st_mode) != !n->is_folder || (!n->is_folder && (int)s.st_nlink != n->links))
        wrong("stat", text, "", errno, 0);
    if (n->is_folder)
        return;
    fd = open(text, O_RDONLY);
    if (fd < 0 || read(fd, &serial, sizeof serial) != sizeof serial || serial != n->serial)
        wrong("content", text, "", serial, n->serial);
    close(fd);
}

static void alone(void)
{
    struct path p = any_path(), q = any_path();
    uint32_t what = below(12);
    int should = 0, serial = 0, is = 0;
    errno = 0;
    switch (what) {
    case 0:
    case 1:
    case 2:
        should = model_make(&p, 1, &serial);
        is = mkdir(p.text, 0755);
        break;
    case 3:
    case 4:
    case 5:
        should = model_make(&p, 0, &serial);
        is = make_file(p.text, serial);
        break;
    case 6:
        should = model_remove(&p, 0);
        is = unlink(p.text);
        break;
    case 7:
        should = model_remove(&p, 1);
        is = rmdir(p.text);
        break;
    case 8:
        should = model_link(&p, &q);
        is = link(p.text, q.text);
        break;
    default: should = model_rename(&p, &q); is = rename(p.text, q.text);
    }
    if ((is ? errno : 0) != should)
        wrong(&"mkdir\0\0mkdir\0\0mkdir\0\0create\0create\0create\0unlink\0rmdir\0\0link\0\0\0rename\0rename\0rename"
                  [7 * what],
              p.text, q.text, is ? errno : 0, should);
    int error;
    struct node *in = folder_of(&q, &error);
    if (in && *place(in, &q))
        look(q.text, *place(in, &q));
}

static void together(void)
{
    char a[40], b[40];
    int is = 0;
    sprintf(a, "../all/%s", any_path().text);
    sprintf(b, "../all/%s", any_path().text);
    errno = 0;
    switch (below(6)) {
    case 0: is = mkdir(a, 0755); break;
    case 1: is = make_file(a, 1); break;
    case 2: is = unlink(a); break;
    case 3: is = rmdir(a); break;
    case 4: is = link(a, b); break;
    default: is = rename(a, b);
    }
    if (is && errno != ENOENT && errno != EEXIST && errno != ENOTDIR && errno != EISDIR && errno != ENOTEMPTY &&
        errno != EINVAL && errno != EPERM)
        wrong("together", a, b, errno, 0);
}

static void look_at_all(struct node *n, char *text)
{
    size_t length = strlen(text);
    for (int i = 0; i < NAMES; i++) {
        if (!n->at[i])
            continue;
        sprintf(text + length, "%s%c", length ? "/" : "", 'a' + i);
        look(text, n->at[i]);
        if (n->at[i]->is_folder)
            look_at_all(n->at[i], text);
        text[length] = 0;
    }
}

static int child(int number, int operations, uint32_t seed)
{
    char text[256] = "";
    state = seed * 7919 + (uint32_t)number;
    sprintf(text, "p%d", number);
    if (mkdir(text, 0755) || chdir(text))
        return 1;
    root = new_node(1, 0);
    for (int i = 0; i < operations; i++) {
        alone();
        if (i % 2)
            together();
    }
    text[0] = 0;
    look_at_all(root, text);
    return failed != 0;
}

int main(int argc, char **argv)
{
    int status, bad = 0;
    if (argc < 5 || chdir(argv[1]) || mkdir("all", 0755)) {
        perror("names");
        return 2;
    }
    int processes = atoi(argv[2]), operations = atoi(argv[3]);
    fflush(stdout);
    for (int i = 0; i < processes; i++)
        if (!fork())
            exit(child(i, operations, (uint32_t)atoi(argv[4])));
    for (int i = 0; i < processes; i++)
        bad += wait(&status) < 0 || status;
    printf("names: %d operations, %d failed\n", processes * (operations + operations / 2), bad);
    return bad != 0;
}
