/*
 * Transfers that fail (included by ext2.c). Each operation of the list below is tried on the same tree again and again,
 * and each time another of its transfers, a block or a flush, fails. A model judges the result, which is the tree
 * before the operation and the tree after it without a fault, and so does e2fsck:
 *
 *   the same mount then shows the one or the other; the latter if the operation gave no error
 *   repeating the operation, with a working drive, leads to the tree after it (`ONCE`)
 *   a power cut leaves what sync has acknowledged; and what fsync has, in the first call or the second one
 *   an unmount then leaves a sound image, or asks for e2fsck, which mends it; it has the one tree or the other
 *   no file is changed except the operation's
 *
 * A new operation is a line of `operations`: its name, what it does, and what is done before, with the cache then
 * empty, or (`warm`) full, with delayed blocks. `parts`: a file of which only a part may have been
 * written, cut or added.
 * `fails`: some case is known to fail; the test then searches for one that fails, and reports when all pass: then
 * remove the mark.
 *
 * EXT2_TRANSFERS in the environment: all cases, not some of them, of the operations whose names begin with it ("all":
 * of each), and what is wrong in each that fails; "log": many drives that fail under a journal's transactions
 * (at the end of this file).
 */
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef TRANSFERS_EACH
#define TRANSFERS_EACH 7u /* one of so many cases */
#endif
#define PARTS_MOST 320000u

struct picture { /* of a tree: one line per file, sorted */
    char text[24000];
    uint8_t parts[PARTS_MOST]; /* contents of the file that may be there in part */
    uint32_t parts_size;
};

struct operation {
    const char *name;
    int (*operate)(void);
    int (*before)(void); /* or 0 */
    const char *parts;   /* or 0 */
    bool warm;
    /* Its purpose: what was written before is on the medium. If that fails, its bytes are 0. */
    bool acknowledges;
    unsigned fails; /* 1: without a journal, 2: with one */
};

enum how { ONCE, SECTOR, DEAD, DONE, HOWS };
static const char *const how_it_fails[] = {"once", "with its sector, until the operation is over",
                                           "with all that come behind, until the operation is over",
                                           "once, though it is written"};

static struct shared { /* with the processes that try */
    struct picture before, after, seen, committed; /* committed: before any delayed operation */
    uint32_t transfers, sector;
    const char *what;
    bool reached, told;
} *shared;

static const struct operation *tried;
static bool failing, with_log;
static uint32_t fails_at, transfers_so_far, failing_sector;
static enum how fails_how;
static bool reads_are_well; /* whatever else fails */
static uint8_t *certain; /* on the medium whatever the drive's cache loses */
static struct vnode *kept_open;

/* For the device: whether the transfer of `bp`, or a flush (null), fails. */
static bool a_transfer_fails(const struct buf *bp)
{
    if (!failing || (reads_are_well && bp && bp->flags & B_READ))
        return false;
    uint32_t number = transfers_so_far++, sector = bp ? bp->sector : UINT32_MAX;
    bool write = bp && !(bp->flags & B_READ);
    if (number == fails_at) {
        failing_sector = sector;
        shared->reached = true;
        shared->sector = sector;
        shared->what = !bp ? "flush" : write ? "write" : "read";
        if (fails_how == DONE && write)
            memcpy(disk + (size_t)sector * SECTOR_SIZE, bp->data, bp->size);
        return true;
    }
    return number > fails_at && (fails_how == DEAD || (fails_how == SECTOR && sector == failing_sector));
}

static int flush_or_fail(struct blockdev *d)
{
    (void)d;
    if (a_transfer_fails(0))
        return -EIO;
    memcpy(certain, disk, disk_size);
    return 0;
}

/* Pictures --------------------------------------------------------------------------------------------------------- */

struct names {
    uint32_t count;
    char name[64][NAME_MOST + 1];
};

static bool remember_name(void *arg, const struct dirent_out *entry)
{
    struct names *names = arg;
    CHECK(names->count < 64);
    memcpy(names->name[names->count], entry->name, entry->length);
    names->name[names->count++][entry->length] = 0;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void draw(struct picture *p, const char *path);

static uint32_t draw_directory(struct picture *p, const char *path, struct vnode *vp)
{
    struct names *names = calloc(1, sizeof *names);
    uint32_t not_ours = 0;
    int error = vfs_readdir(vp, 0, remember_name, names);
    if (error)
        host_failed(__FILE__, __LINE__, "%s cannot be read: %s", path, strerror(-error));
    qsort(names->name, names->count, sizeof names->name[0], by_name);
    for (uint32_t i = 0; i < names->count; i++) {
        char below[PATH_MOST];
        if (!strcmp(names->name[i], "lost+found")) /* e2fsck's */
            not_ours++;
        else if (strcmp(names->name[i], ".") && strcmp(names->name[i], "..")) {
            snprintf(below, sizeof below, "%s/%s", path, names->name[i]);
            draw(p, below);
        }
    }
    free(names);
    char up[PATH_MOST];
    struct vnode *above, *dots;
    snprintf(up, sizeof up, "%s/..", path);
    CHECK_EQUAL(namei(0, up, true, &dots), 0);
    snprintf(up, sizeof up, "%.*s/", (int)(strrchr(path, '/') - path), path);
    CHECK_EQUAL(namei(0, *path && strrchr(path, '/') != path ? up : "/", true, &above), 0);
    if (dots != above)
        host_failed(__FILE__, __LINE__, "%s/.. leads elsewhere", path);
    vrele(dots);
    vrele(above);
    return not_ours;
}

static uint32_t draw_contents(struct picture *p, const char *path, struct vnode *vp, uint64_t size)
{
    static uint8_t data[PARTS_MOST];
    bool in_parts = tried->parts && !strcmp(path + 1, tried->parts);
    uint32_t sum = 2166136261u;
    struct uio uio;
    CHECK(size <= sizeof data);
    uio_kernel(&uio, data, (uint32_t)size, 0, false);
    CHECK_EQUAL(vfs_read(vp, &uio), 0);
    CHECK_EQUAL(uio.left, 0);
    if (in_parts) {
        memcpy(p->parts, data, size);
        p->parts_size = (uint32_t)size;
        return 0;
    }
    for (uint32_t i = 0; i < size; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

static void draw(struct picture *p, const char *path)
{
    struct vnode *vp;
    struct vattr attr;
    char text[PATH_MOST] = "";
    uint32_t links, sum = 0;
    int error = namei(0, *path ? path : "/", false, &vp);
    if (error)
        host_failed(__FILE__, __LINE__, "%s is named, and not there: %s", path, strerror(-error));
    CHECK_EQUAL(vfs_getattr(vp, &attr), 0);
    links = attr.nlink;
    uint64_t size = attr.size;
    if (vp->type == VDIR) {
        links -= draw_directory(p, path, vp);
        size = 0; /* whatever its entries need */
    } else if (vp->type == VREG) {
        sum = draw_contents(p, path, vp, size);
        size = tried->parts && !strcmp(path + 1, tried->parts) ? 0 : size;
    } else if (vp->type == VLNK) {
        CHECK_EQUAL(vfs_readlink(vp, text, sizeof text - 1), size);
    }
    size_t used = strlen(p->text);
    CHECK(used + 400 + strlen(text) < sizeof p->text);
    sprintf(p->text + used, "%s %o %u %u %llu %x %s\n", path, attr.mode, (unsigned)links, (unsigned)attr.uid,
            (unsigned long long)size, (unsigned)sum, text);
    vrele(vp);
}

static void draw_all(struct picture *p)
{
    p->text[0] = 0;
    p->parts_size = 0;
    draw(p, "");
    nothing_is_held();
}

/*
 * A file that may have been written, cut or extended in part: each byte is the old or the new one, or one that was
 * never written.
 */
static bool parts_are_good(const struct picture *p)
{
    const struct picture *b = &shared->before, *a = &shared->after;
    uint32_t most = MAX(b->parts_size, a->parts_size);
    if (p->parts_size > most)
        return false;
    for (uint32_t i = 0; i < p->parts_size; i++) {
        uint8_t byte = p->parts[i];
        if (!(i < b->parts_size && byte == b->parts[i]) && !(i < a->parts_size && byte == a->parts[i]) &&
            !(byte == 0 && (i >= b->parts_size || i >= a->parts_size || tried->acknowledges)))
            return false;
    }
    return true;
}

static bool alike(const struct picture *a, const struct picture *b)
{
    return !strcmp(a->text, b->text) && a->parts_size == b->parts_size && !memcmp(a->parts, b->parts, a->parts_size);
}

static _Noreturn void is_neither(const char *when, const struct picture *p)
{
    printf("%s: it is neither the tree before nor the one after:\n", when);
    const struct picture *all[] = {&shared->before, &shared->after, p};
    static const char *const names[] = {"before", "after", "is"};
    for (unsigned i = 0; i < 3; i++)
        for (const char *line = all[i]->text, *end; *line; line = end + 1) {
            char one[PATH_MOST + 512];
            unsigned in = 0;
            end = strchr(line, '\n');
            snprintf(one, sizeof one, "%.*s\n", (int)(end - line), line);
            for (unsigned k = 0; k < 3; k++)
                in += strstr(all[k]->text, one) != 0;
            if (in < 3 && strlen(one) > 120)
                printf("  %s: %.40s...%s", names[i], one, one + strlen(one) - 60);
            else if (in < 3)
                printf("  %s: %s", names[i], one);
        }
    fflush(stdout);
    _exit(1);
}

/* 1: the tree after, 0: before, 2: between the two, where that is allowed; else the test fails. */
static int judge(const char *when, const struct picture *p)
{
    if (alike(p, &shared->after))
        return 1;
    if (alike(p, &shared->before))
        return 0;
    if (tried->parts && (!strcmp(p->text, shared->after.text) || !strcmp(p->text, shared->before.text)) &&
        parts_are_good(p))
        return 2;
    if (with_log && tried->acknowledges &&
        alike(p, &shared->committed)) /* a log that cannot be written loses everything */
        return 3;
    is_neither(when, p);
}

/* One case --------------------------------------------------------------------------------------------------------- */

static int status_of(const char *format, const char *path)
{
    char command[256], whole[400];
    snprintf(command, sizeof command, format, path);
    snprintf(whole, sizeof whole, "exec /usr/sbin/%s >%s/fsck 2>&1", command, folder);
    int status = system(whole);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void show_fsck(const char *when)
{
    char command[128];
    printf("%s:\n", when);
    fflush(stdout);
    snprintf(command, sizeof command, "cat %s/fsck", folder);
    CHECK(!system(command));
}

/* Mends the image in `disk`, mounts it, and takes its picture. */
static void draw_what_is_left(const char *when, bool told)
{
    write_image();
    bool clean = told ? !status_of("e2fsck -fn %s", image) : true;
    if (!clean || !told) {
        int status = status_of("e2fsck -fy %s", image);
        if (status > 1)
            show_fsck(when);
        CHECK(status <= 1);
        CHECK_EQUAL(status_of("e2fsck -fn %s", image), 0);
    }
    read_image();
    remount();
    draw_all(&shared->seen);
    CHECK_EQUAL(vfs_unmount_all(), 0);
}

static void drive_is_well(void)
{
    while (pendings) /* I/O under way belongs to it */
        one_ends();
    failing = false;
}

/* What sync has acknowledged is there after a power cut: `of` is the tree as it was seen then. */
static void what_a_cut_leaves(int of)
{
    pid_t child = fork();
    if (!child) {
        uint8_t *left = malloc(disk_size); /* before an unmount adds to it */
        CHECK(left);
        memcpy(left, certain, disk_size);
        if (kept_open)
            vrele(kept_open);
        CHECK_EQUAL(vfs_unmount_all(), 0);
        memcpy(disk, left, disk_size);
        draw_what_is_left("after sync and a cut of the power", false);
        CHECK_EQUAL(judge("after sync and a cut of the power", &shared->seen), of);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
}

/* Repeats the operation after an error, if that should help; returns which of the trees there is now. */
static int done_again(int is, bool flush_alone)
{
    if (is == 1 && !tried->acknowledges)
        return is;
    CHECK_EQUAL(tried->operate(), 0);
    draw_all(&shared->seen);
    is = judge("when it is done again", &shared->seen);
    CHECK(is == 1 || tried->acknowledges);
    if (tried->acknowledges && flush_alone)
        what_a_cut_leaves(is);
    return is;
}

/* An unmounted image is sound, or some call has reported that it is not. `error`: the operation's. */
static void look_at_the_image(bool told, int error)
{
    write_image();
    int status = status_of("e2fsck -fn %s", image);
    if (status && !told)
        show_fsck("it is not sound, and nobody was told");
    CHECK(!status || told);
    shared->told = status;
    draw_what_is_left("unmounted", true);
    int left = judge("unmounted", &shared->seen);
    if (!told && !error)
        CHECK_EQUAL(left, 1);
}

static void one_case(uint32_t at, enum how how)
{
    struct rlimit most = {20, 20};
    setrlimit(RLIMIT_CPU, &most);
    fails_at = at, fails_how = how, failing = true;
    int error = tried->operate();
    drive_is_well();
    if (!shared->reached && at != UINT32_MAX)
        _exit(0);
    nothing_is_held();
    draw_all(&shared->seen);
    if (at == UINT32_MAX) {
        CHECK_EQUAL(error, 0);
        shared->transfers = transfers_so_far;
        shared->after = shared->seen;
    }
    struct vnode *root = vfs_root();
    const struct ext2 *fs = EXT2(root->mount);
    bool flush_alone = shared->what && !strcmp(shared->what, "flush") && how == ONCE;
    vrele(root);
    int is = judge("behind it", &shared->seen);
    bool later = !error && is == 2; /* sync reports contents that could not be written */
    if (!error)
        CHECK(is == 1 || later);
    if (error && how == ONCE && !fs->mount.read_only)
        is = done_again(is, flush_alone);
    if (!error && tried->acknowledges)
        what_a_cut_leaves(is);
    bool errors = fs->errors;
    int lost = vfs_sync();
    CHECK(!later || lost);
    if (!lost && (!error || flush_alone) && !fs->mount.read_only) {
        draw_all(&shared->seen);
        is = judge("behind sync", &shared->seen);
        what_a_cut_leaves(is);
    }
    if (kept_open)
        vrele(kept_open);
    errors |= fs->errors;
    int unmounted = vfs_unmount_all();
    CHECK(unmounted != -EBUSY);
    nothing_is_held();
    CHECK_EQUAL(inodes_referenced(), 0);
    CHECK_EQUAL(bio_busy(), 0);
    look_at_the_image(errors || lost || unmounted || (tried->acknowledges && error), error);
    _exit(0);
}

/* Whether the case passed. Without `say` nothing is printed. */
static bool holds(uint32_t at, enum how how, bool say)
{
    fflush(stdout);
    shared->reached = false;
    pid_t child = fork();
    if (!child) {
        if (!say)
            CHECK(freopen("/dev/null", "w", stdout) && dup2(fileno(stdout), 1) >= 0 && dup2(fileno(stdout), 2) >= 0);
        one_case(at, how);
    }
    int status;
    waitpid(child, &status, 0);
    return !status;
}

/* The operations --------------------------------------------------------------------------------------------------- */

static void must(int error)
{
    CHECK_EQUAL(error, 0);
}

static uint8_t contents[PARTS_MOST];

/* `n` bytes that say which file and which writing of it they are. */
static int put(const char *path, uint32_t at, uint32_t n, uint8_t whose)
{
    for (uint32_t i = 0; i < n; i++)
        contents[i] = (uint8_t)(whose ? whose + (at + i) / 512 % 7 * 16 : 0);
    return pwrite_ours(path, at, contents, n);
}

static void name_of_250(char *to, const char *where, unsigned n)
{
    sprintf(to, "%s/%0250u", where, n);
}

static void make_tree(void)
{
    static const char *const folders[] = {"a", "b", "a/sub", "b/full", "b/deep", "e", "f"};
    char name[300];
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++)
        must(vfs_make(0, folders[i], VDIR, 0755, 0, 0));
    must(put("a/small", 0, 900, 1));
    must(put("b/over", 0, 2500, 2));
    must(put("a/two", 0, 3000, 3));
    must(vfs_link(0, "a/two", "b/two"));
    must(put("a/big", 0, 14 * 1024, 4));
    must(put("a/big", 100 * 1024, 5000, 5));
    must(put("a/big", 290 * 1024, 10000, 6));
    must(put("a/sub/x", 0, 700, 7));
    must(put("beside", 0, 5000, 8));
    memset(name, 't', sizeof name);
    name[200] = 0;
    must(vfs_make(0, "a/long", VLNK, 0777, 0, name));
    must(vfs_make(0, "a/short", VLNK, 0777, 0, "small"));
    for (unsigned i = 0; i < 3; i++) { /* no room for another name */
        name_of_250(name, "b/full", i);
        must(vfs_link(0, "a/small", name));
    }
    sprintf(name, "b/full/%0180u", 3);
    must(vfs_link(0, "a/small", name));
    for (unsigned i = 0; i < 36; i++) { /* nor in the inode's twelve direct blocks */
        name_of_250(name, "b/deep", i);
        must(vfs_link(0, "a/two", name));
    }
}

/* A file with its own attributes, and two and a short link that share theirs; files without any are unchanged. */
static void give_attributes_of_tree(void)
{
    FILE *commands;
    must(put("f/own", 0, 2000, 12));
    must(put("f/one", 0, 700, 13));
    must(put("f/two", 0, 700, 14));
    must(vfs_make(0, "f/link", VLNK, 0777, 0, "own"));
    CHECK_EQUAL(vfs_unmount_all(), 0);
    debugfs_begins(&commands);
    fprintf(
        commands,
        "ea_set f/own user.a text\nea_set f/one user.b text\nea_set f/two user.b text\nea_set f/link user.b text\n");
    debugfs_ends(commands);
    uint32_t shares = 0, number[3], n = 0;
    const struct ext2_super *s = (const struct ext2_super *)(disk + 1024);
    for (uint32_t i = s->first_inode; i <= s->inodes; i++)
        if (inode_at(i)->links && inode_at(i)->attributes && n++ && n <= 4)
            number[n - 2] = i; /* behind f/own */
    CHECK_EQUAL(n, 4);
    shares = inode_at(number[0])->attributes;
    inode_at(number[1])->attributes = inode_at(number[2])->attributes = shares;
    write_image(); /* e2fsck counts, and frees the others */
    shell("PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; e2fsck -fy %s; [ $? -le 1 ] && { debugfs -w -R 'rmdir "
          "lost+found' %s; true; }",
          image, image);
    read_image();
    CHECK_EQUAL(((const struct ext2_attributes *)(disk + (size_t)shares * 1024))->references, 3);
    mount_there();
}

static int open_and(const char *path, int (*fn)(struct vnode *vp))
{
    struct vnode *vp;
    int error = namei(0, path, true, &vp);
    if (error)
        return error;
    error = fn(vp);
    vrele(vp);
    return error;
}

static char name_250[300];

static int none(int error, int done) /* `done`: it was done before, and gave an error */
{
    return error == done ? 0 : error;
}

static int op_create(void)
{
    return none(vfs_make(0, "a/new", VREG, 0644, 0, 0), -EEXIST);
}
static int op_create_in_full(void)
{
    name_of_250(name_250, "b/full", 9);
    return none(vfs_make(0, name_250, VREG, 0644, 0, 0), -EEXIST);
}
static int op_create_in_deep(void)
{
    name_of_250(name_250, "b/deep", 99);
    return none(vfs_make(0, name_250, VREG, 0644, 0, 0), -EEXIST);
}
static int op_mkdir(void)
{
    return none(vfs_make(0, "a/newer", VDIR, 0755, 0, 0), -EEXIST);
}
static int op_mkdir_in_full(void)
{
    name_of_250(name_250, "b/full", 9);
    return none(vfs_make(0, name_250, VDIR, 0755, 0, 0), -EEXIST);
}
static int op_symlink(void)
{
    return none(vfs_make(0, "a/s", VLNK, 0777, 0, "small"), -EEXIST);
}
static int op_symlink_long(void)
{
    char text[201];
    memset(text, 'u', 200);
    text[200] = 0;
    return none(vfs_make(0, "a/s", VLNK, 0777, 0, text), -EEXIST);
}
static int op_device(void)
{
    return none(vfs_make(0, "a/dev", VCHR, 0600, 0x501, 0), -EEXIST);
}
static int op_link(void)
{
    return none(vfs_link(0, "a/big", "b/big"), -EEXIST);
}
static int op_link_in_full(void)
{
    name_of_250(name_250, "b/full", 9);
    return none(vfs_link(0, "a/big", name_250), -EEXIST);
}
static int op_unlink_small(void)
{
    return none(vfs_remove(0, "b/over", false), -ENOENT);
}
static int op_unlink_big(void)
{
    return none(vfs_remove(0, "a/big", false), -ENOENT);
}
static int op_unlink_one_of_two(void)
{
    return none(vfs_remove(0, "a/two", false), -ENOENT);
}
static int op_unlink_long(void)
{
    return none(vfs_remove(0, "a/long", false), -ENOENT);
}
static int op_unlink_short(void)
{
    return none(vfs_remove(0, "a/short", false), -ENOENT);
}
static int op_rmdir(void)
{
    return none(vfs_remove(0, "e", true), -ENOENT);
}
static int op_rename(void)
{
    return none(vfs_rename(0, "a/small", "a/smaller"), -ENOENT);
}
static int op_rename_over(void)
{
    return none(vfs_rename(0, "a/big", "a/two"), -ENOENT);
}
static int op_rename_across(void)
{
    return none(vfs_rename(0, "a/small", "b/small"), -ENOENT);
}
static int op_rename_across_over(void)
{
    return none(vfs_rename(0, "a/big", "b/over"), -ENOENT);
}
static int op_rename_in_full(void)
{
    name_of_250(name_250, "b/full", 9);
    return none(vfs_rename(0, "a/big", name_250), -ENOENT);
}
static int op_rename_directory(void)
{
    return none(vfs_rename(0, "a/sub", "a/sup"), -ENOENT);
}
static int op_rename_directory_across(void)
{
    return none(vfs_rename(0, "a/sub", "b/sub"), -ENOENT);
}
static int op_rename_directory_over(void)
{
    return none(vfs_rename(0, "a/sub", "e"), -ENOENT);
}
static int op_rename_directory_up(void)
{
    return none(vfs_rename(0, "a/sub", "sub"), -ENOENT);
}
static int op_cut(void)
{
    return truncate_ours("a/big", 104000);
}
static int op_cut_to_direct(void)
{
    return truncate_ours("a/big", 5000);
}
static int op_cut_to_none(void)
{
    return truncate_ours("a/big", 0);
}
static int op_extend(void)
{
    return truncate_ours("a/small", 20000);
}
static int op_write_new(void)
{
    return put("a/made", 0, 9000, 9);
}
static int op_write_over(void)
{
    return put("b/over", 100, 700, 10);
}
static int op_write_whole(void)
{
    return put("b/over", 0, 2048, 10);
}
static int op_append(void)
{
    return put("b/over", 2500, 16000, 10);
}
static int op_write_into_hole(void)
{
    return put("a/big", 60 * 1024, 6000, 11);
}
static int op_write_double(void)
{
    return put("a/small", 280 * 1024, 3000, 11);
}
static int change_mode(struct vnode *vp)
{
    struct vattr attr = {.mode = 0600};
    return vfs_setattr(vp, &attr, ATTR_MODE);
}
static int op_chmod(void)
{
    return open_and("b/over", change_mode);
}
static int before_fsync(void)
{
    return put("a/made", 0, 9000, 9);
}
static int before_sync(void)
{
    return put("a/big", 60 * 1024, 6000, 11);
}
static int op_fsync(void)
{
    return open_and("a/made", vfs_fsync);
}
static int op_fsync_big(void)
{
    return open_and("a/big", vfs_fsync);
}
static int op_unlink_with_own(void)
{
    return none(vfs_remove(0, "f/own", false), -ENOENT);
}
static int op_unlink_with_shared(void)
{
    return none(vfs_remove(0, "f/two", false), -ENOENT);
}
static int op_unlink_link_with_shared(void)
{
    return none(vfs_remove(0, "f/link", false), -ENOENT);
}
static int op_sync(void)
{
    return vfs_sync();
}
static int read_names(struct vnode *vp)
{
    struct names *names = calloc(1, sizeof *names);
    int error = vfs_readdir(vp, 0, remember_name, names);
    if (!error)
        CHECK_EQUAL(names->count, 38);
    free(names);
    return error;
}
static int op_readdir(void)
{
    return open_and("b/deep", read_names);
}
static int read_big(struct vnode *vp)
{
    static uint8_t data[PARTS_MOST];
    struct uio uio;
    uio_kernel(&uio, data, 300 * 1024, 0, false);
    return vfs_read(vp, &uio);
}
static int op_read(void)
{
    return open_and("a/big", read_big);
}
static int before_close(void)
{
    return namei(0, "a/big", true, &kept_open);
}
static int op_unlink_and_close(void)
{
    int error = vfs_remove(0, "a/big", false);
    if (!error && kept_open) {
        vrele(kept_open);
        kept_open = 0;
    }
    return none(error, -ENOENT);
}

static const struct operation operations[] = {
    {"create", op_create, 0, 0, false, false, 0},
    {"create where the directory grows", op_create_in_full, 0, 0, false, false, 0},
    {"create where the directory gets a block of pointers", op_create_in_deep, 0, 0, false, false, 0},
    {"mkdir", op_mkdir, 0, 0, false, false, 0},
    {"mkdir where the directory grows", op_mkdir_in_full, 0, 0, false, false, 0},
    {"symlink", op_symlink, 0, 0, false, false, 0},
    {"symlink of a long text", op_symlink_long, 0, 0, false, false, 0},
    {"mknod", op_device, 0, 0, false, false, 0},
    {"link", op_link, 0, 0, false, false, 0},
    {"link where the directory grows", op_link_in_full, 0, 0, false, false, 0},
    {"unlink", op_unlink_small, 0, 0, false, false, 0},
    {"unlink of many blocks", op_unlink_big, 0, 0, false, false, 0},
    {"unlink of one of two names", op_unlink_one_of_two, 0, 0, false, false, 0},
    {"unlink of a long link", op_unlink_long, 0, 0, false, false, 0},
    {"unlink of a short link", op_unlink_short, 0, 0, false, false, 0},
    {"unlink and close", op_unlink_and_close, before_close, 0, false, false, 0},
    {"unlink of a file with attributes", op_unlink_with_own, 0, 0, false, false, 0},
    {"unlink of a file that shares its attributes", op_unlink_with_shared, 0, 0, false, false, 0},
    {"unlink of a short link that shares its attributes", op_unlink_link_with_shared, 0, 0, false, false, 0},
    {"rmdir", op_rmdir, 0, 0, false, false, 0},
    {"rename", op_rename, 0, 0, false, false, 0},
    {"rename over a file", op_rename_over, 0, 0, false, false, 0},
    {"rename to another directory", op_rename_across, 0, 0, false, false, 0},
    {"rename to another directory over a file", op_rename_across_over, 0, 0, false, false, 0},
    {"rename where the directory grows", op_rename_in_full, 0, 0, false, false, 0},
    {"rename of a directory", op_rename_directory, 0, 0, false, false, 0},
    {"rename of a directory to another", op_rename_directory_across, 0, 0, false, false, 0},
    {"rename of a directory over one", op_rename_directory_over, 0, 0, false, false, 0},
    {"rename of a directory upwards", op_rename_directory_up, 0, 0, false, false, 0},
    {"cut", op_cut, 0, "a/big", false, false, 0},
    {"cut to direct blocks", op_cut_to_direct, 0, "a/big", false, false, 0},
    {"cut to nothing", op_cut_to_none, 0, "a/big", false, false, 0},
    {"made longer by a hole", op_extend, 0, "a/small", false, false, 0},
    {"write of a new file", op_write_new, 0, "a/made", false, false, 0},
    {"write in place", op_write_over, 0, "b/over", false, false, 0},
    {"write of whole blocks in place", op_write_whole, 0, "b/over", false, false, 0},
    {"append", op_append, 0, "b/over", false, false, 0},
    {"write into a hole", op_write_into_hole, 0, "a/big", false, false, 0},
    {"write behind blocks of pointers", op_write_double, 0, "a/small", false, false, 0},
    {"chmod", op_chmod, 0, 0, false, false, 0},
    {"fsync of a new file", op_fsync, before_fsync, "a/made", true, true, 0},
    {"fsync of one that had a hole", op_fsync_big, before_sync, "a/big", true, true, 0},
    {"sync", op_sync, before_sync, "a/big", true, true, 0},
    {"readdir", op_readdir, 0, 0, false, false, 0},
    {"read", op_read, 0, 0, false, false, 0},
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

/* In a process of its own: taking the picture reads, which would write delayed blocks. */
static void draw_apart(struct picture *p, int (*before)(void))
{
    pid_t child = fork();
    if (!child) {
        if (before)
            must(before());
        draw_all(p);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && !status);
}

static void try_operation(const struct operation *op, uint32_t each, uint32_t first)
{
    tried = op;
    uint32_t cases = 0, asked = 0, wrong = 0;
    bool fails = op->fails & (with_log ? 2 : 1), all = getenv("EXT2_TRANSFERS") != 0;
    draw_apart(&shared->committed, 0);
    draw_apart(&shared->before, op->warm ? op->before : 0);
    if (!op->warm)
        mount_again();
    if (op->before)
        must(op->before());
    shared->what = 0;
    transfers_so_far = 0;
    if (!holds(UINT32_MAX, ONCE, true))
        host_failed(__FILE__, __LINE__, "%s, without a fault", op->name);
    for (uint32_t at = 0, transfers = shared->transfers; at < transfers; at++)
        for (enum how how = 0; how < HOWS; how++) {
            bool sampled = (at * HOWS + how + first) % each == 0 || (op->acknowledges && how == ONCE);
            if (!all && (fails ? wrong : !sampled))
                continue;
            shared->what = 0;
            bool held = holds(at, how, all || !fails);
            cases += shared->reached;
            asked += held && shared->told;
            wrong += !held;
            if (!held && (all || !fails))
                printf("%s: transfer %u of %u, %s of sector %d, fails %s\n", op->name, at, transfers,
                       shared->what ? shared->what : "?", (int)shared->sector, how_it_fails[how]);
        }
    if (all)
        printf("%s: %u cases, after %u e2fsck was asked for, %u wrong\n", op->name, cases, asked, wrong);
    if (fails && !wrong)
        host_failed(__FILE__, __LINE__, "%s: all %u cases hold: take its mark away", op->name, cases);
    fflush(stdout);
    _exit(!fails && wrong);
}

/* The tree on a drive whose transfers can fail. */
static void transfers_begin(bool with_journal, uint32_t inodes)
{
    with_log = with_journal;
    if (with_journal)
        with_a_journal();
    features = with_journal ? "none,filetype,sparse_super,ext_attr,has_journal -J size=1"
                            : "none,filetype,sparse_super,ext_attr";
    begin(with_journal ? 2304 : 512, "-b 1024 -I 128 -N 128", 64, inodes, 1);
    certain = malloc(disk_size);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(certain && shared != MAP_FAILED);
    make_tree();
    give_attributes_of_tree();
    struct vnode *root = vfs_root();
    CHECK_EQUAL(EXT2(root->mount)->log != 0, with_journal);
    vrele(root);
    memcpy(certain, disk, disk_size);
    device.flush = flush_or_fail;
    transfer_fails = a_transfer_fails;
}

static void transfers_end(unsigned wrong)
{
    free(certain);
    CHECK_EQUAL(wrong, 0);
    device.flush = 0;
    transfer_fails = 0;
    end();
}

/* Of each operation every n-th case, beginning at different ones, or all. */
static void transfers_fail(bool with_journal, uint32_t each)
{
    const char *only = getenv("EXT2_TRANSFERS");
    unsigned wrong = 0;
    transfers_begin(with_journal, 24);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        if (only && strcmp(only, "all") && strncmp(operations[i].name, only, strlen(only)))
            continue;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            try_operation(&operations[i], each, i);
        }
        int status;
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    transfers_end(wrong);
}

HOST_TEST(each_transfer_fails)
{
    transfers_fail(false, TRANSFERS_EACH);
}

HOST_TEST(each_transfer_fails_with_a_journal)
{
    transfers_fail(true, TRANSFERS_EACH);
}

/*
 * A drive that fails for good, or for the rest of an operation, in the middle of many delayed ones, with a journal.
 * Memory has the tree after the operations that gave no error, whatever is read and done then; the
 * device has one of the trees since the last sync, with nothing to mend.
 */
#define STEPS_MOST 16u
#define DRIVES 12u
#define DRIVES_ALL 400u

static struct steps { /* with the processes that try */
    char tree[STEPS_MOST + 1][sizeof((struct picture *)0)->text];
    uint32_t transfers, ended;
} *steps;

static int op_few_bytes_more(void) /* in an existing block: only its inode changes */
{
    return put("beside", 5000, 100, 0); /* as on the device: contents may be lost */
}

static int a_step(struct random *random, bool *syncs)
{
    static int (*const own[])(void) = {op_few_bytes_more, op_chmod, op_sync};
    uint32_t i = random_below(random, OPERATIONS + 9);
    bool is_own = i >= OPERATIONS || operations[i].parts || operations[i].before || operations[i].operate == op_readdir;
    *syncs = is_own && i % 3 == 2;
    return is_own ? own[i % 3]() : operations[i].operate();
}

static void draw_step(uint32_t i)
{
    draw_apart(&shared->seen, 0);
    memcpy(steps->tree[i], shared->seen.text, sizeof shared->seen.text);
}

/* Checks that the tree seen is one of these. */
static void check_is_of(const char *when, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (!strcmp(shared->seen.text, steps->tree[i]))
            return;
    memcpy(shared->before.text, steps->tree[first], sizeof shared->before.text);
    memcpy(shared->after.text, steps->tree[last], sizeof shared->after.text);
    is_neither(when, &shared->seen);
}

/* The trees of all steps on a working drive, and the number of transfers. */
static void take_steps(struct random random, uint32_t count)
{
    bool syncs;
    failing = true, fails_at = UINT32_MAX;
    draw_step(0);
    for (uint32_t i = 0; i < count; i++) {
        a_step(&random, &syncs);
        draw_step(i + 1);
    }
    steps->transfers = transfers_so_far;
    _exit(0);
}

static void fail_in_the_middle(struct random random)
{
    static const struct operation any = {0};
    uint32_t count = 4 + random_below(&random, STEPS_MOST - 4), done = 0, synced = 0;
    tried = &any;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        take_steps(random, count);
    int status, error = 0;
    CHECK(waitpid(child, &status, 0) == child && !status);
    struct vnode *root = vfs_root();
    const struct ext2 *fs = EXT2(root->mount);
    vrele(root);
    struct random where = random;
    fails_at = random_below(&where, steps->transfers);
    failing = true, fails_how = DEAD;
    reads_are_well = random_below(&where, 4);
    shared->reached = false;
    for (bool syncs; done < count && !shared->reached; done++) {
        error = a_step(&random, &syncs);
        synced = syncs && !error ? done + 1 : synced;
    }
    if (!reads_are_well)
        drive_is_well();
    uint32_t first = shared->reached && error ? done - 1 : done;
    draw_all(&shared->seen);
    check_is_of("what memory has", first, done);
    bool ended = fs->mount.read_only;
    for (uint32_t i = 0; ended && i < 8; i++) { /* nothing changes any more */
        bool syncs;
        a_step(&random, &syncs);
        draw_all(&shared->seen);
        check_is_of("what memory has when nothing can be changed", first, done);
    }
    steps->ended += ended;
    drive_is_well();
    bool errors = fs->errors;
    int unmounted = vfs_unmount_all();
    CHECK(unmounted || !ended);
    nothing_is_held();
    CHECK_EQUAL(inodes_referenced(), 0);
    CHECK_EQUAL(bio_busy(), 0);
    remount(); /* replays the log */
    draw_all(&shared->seen);
    check_is_of("what the device has", synced, done);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    write_image();
    status = status_of("e2fsck -fn %s", image);
    if (status && !errors)
        show_fsck("it is not sound, and nobody was told");
    CHECK(!status || errors);
    _exit(0);
}

HOST_TEST(a_log_that_cannot_be_written_leaves_memory_whole)
{
    const char *only = getenv("EXT2_TRANSFERS");
    bool all = only && (!strcmp(only, "all") || !strcmp(only, "log"));
    unsigned wrong = 0, drives = all ? DRIVES_ALL : DRIVES;
    if (only && !all)
        return;
    transfers_begin(true, 10); /* fewer than needed: blocks that only memory has must be kept */
    steps = mmap(0, sizeof *steps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(steps != MAP_FAILED);
    for (unsigned i = 0; i < drives; i++) {
        struct random random = random_from(77, i);
        fflush(stdout);
        pid_t child = fork();
        if (!child)
            fail_in_the_middle(random);
        int status;
        waitpid(child, &status, 0);
        if (status)
            printf("drive %u: status %d\n", i, status);
        wrong += status != 0;
    }
    printf("of %u drives that failed %u ended a log\n", drives, steps->ended);
    CHECK(steps->ended * 4 > drives);
    transfers_end(wrong);
}

/*
 * A transfer that fails in the middle of many operations, with many delayed blocks, with and without a journal: each
 * operation returns what it returns without the fault, up to the first that gives an error; the tree seen then is the
 * one before or after that operation. Only contents may be lost later, and sync reports them. EXT2_TRANSFERS=middle
 * tries more.
 */
#define MIDDLES 10u
#define MIDDLES_ALL 600u

static struct middle { /* with the processes that try */
    int error[STEPS_MOST];
    char tree[STEPS_MOST + 1][sizeof((struct picture *)0)->text];
    uint32_t transfers;
} *middle;

static const struct operation *one_of_operations(struct random *random)
{
    const struct operation *op;
    do
        op = &operations[random_below(random, OPERATIONS)];
    while (op->operate == op_readdir); /* it knows what is there */
    return op;
}

/* What the operations do on a working drive. */
static void take_middle(struct random random, uint32_t count)
{
    failing = true, fails_at = UINT32_MAX;
    for (uint32_t i = 0; i <= count; i++) {
        draw_apart(&shared->seen, 0);
        memcpy(middle->tree[i], shared->seen.text, sizeof shared->seen.text);
        if (i < count)
            middle->error[i] = one_of_operations(&random)->operate();
    }
    middle->transfers = transfers_so_far;
    _exit(0);
}

/* A file's line without the sum of its contents, or nothing if it is `but`, or may be another name of that. */
static const char *line_without(const char *line, const char *but, bool sums, char *to)
{
    const char *end = strchr(line, '\n');
    size_t name = strcspn(line, " ");
    unsigned mode = 0, links = 0, uid = 0;
    unsigned long long size = 0;
    int at = 0;
    CHECK(sscanf(line + name, " %o %u %u %llu%n", &mode, &links, &uid, &size, &at) == 4);
    *to = 0;
    if (but && ((strlen(but) + 1 == name && !memcmp(line + 1, but, name - 1)) || (S_ISREG(mode) && links > 1)))
        return end + 1;
    memcpy(to, line, (size_t)(end - line));
    to[end - line] = 0;
    if (!sums && S_ISREG(mode))
        to[name + (size_t)at] = 0;
    return end + 1;
}

/* Whether two trees are alike, except for one file, and for all contents if `sums` do not count. */
static bool trees_alike(const char *a, const char *b, const char *but, bool sums)
{
    char one[PATH_MOST + 600], other[PATH_MOST + 600];
    while (*a || *b) {
        *one = *other = 0;
        while (*a && !*one)
            a = line_without(a, but, sums, one);
        while (*b && !*other)
            b = line_without(b, but, sums, other);
        if (strcmp(one, other))
            return false;
    }
    return true;
}

static void is_tree_of(const char *when, uint32_t first, uint32_t last, const char *but, bool sums)
{
    for (uint32_t i = first; i <= last; i++)
        if (trees_alike(shared->seen.text, middle->tree[i], but, sums))
            return;
    memcpy(shared->before.text, middle->tree[first], sizeof shared->before.text);
    memcpy(shared->after.text, middle->tree[last], sizeof shared->after.text);
    is_neither(when, &shared->seen);
}

/* One of the transfers of a run without a fault, or the first after them. */
static void choose_transfer(struct random random)
{
    for (unsigned i = 0; i < 100; i++) /* draws differ from the operations' */
        random_next(&random);
    fails_at = random_below(&random, middle->transfers + 1);
    fails_how = random_below(&random, HOWS);
    failing = true;
    transfers_so_far = 0;
    shared->reached = false;
    shared->what = 0;
}

static uint32_t any_count(struct random *random)
{
    uint32_t count = 3 + random_below(random, STEPS_MOST - 3);
    if (random_below(random, 2))
        mount_again(); /* nothing is in memory */
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        take_middle(*random, count);
    int status;
    CHECK(waitpid(child, &status, 0) == child && !status);
    return count;
}

/* Up to the first with another error than without the fault: then *op is that, else null. Returns how many ran. */
static uint32_t operate_until_told(struct random random, uint32_t count, const struct operation **op)
{
    for (uint32_t done = 0; done < count; done++) {
        *op = one_of_operations(&random);
        int error = (*op)->operate();
        nothing_is_held();
        if (getenv("EXT2_STEPS"))
            printf("step %u of %u, %s: %d, not %d; %u writes are lost\n", done, count, (*op)->name, error,
                   middle->error[done], device.lost_writes);
        if (error != middle->error[done])
            return done + 1;
    }
    *op = 0;
    return count;
}

/* Whether e2fsck is needed. */
static bool unmount_and_look(const struct ext2 *fs, bool told, bool *lost)
{
    *lost |= device.lost_writes != fs->lost_writes; /* fsync has given an error: then e2fsck is needed, too */
    bool errors = fs->errors;
    int unmounted = vfs_unmount_all();
    CHECK(unmounted != -EBUSY);
    nothing_is_held();
    CHECK_EQUAL(inodes_referenced(), 0);
    CHECK_EQUAL(bio_busy(), 0);
    if (with_log) { /* it is replayed */
        remount();
        CHECK_EQUAL(vfs_unmount_all(), 0);
    }
    write_image();
    int status = status_of("e2fsck -fn %s", image);
    bool asked = errors || (!with_log && (told || *lost || unmounted));
    if (status && !asked)
        show_fsck("it is not sound, and nobody was told");
    CHECK(!status || asked);
    *lost |= unmounted != 0;
    return status;
}

static void fail_somewhere(struct random random)
{
    static const struct operation any = {0};
    const struct operation *op;
    tried = &any;
    uint32_t count = any_count(&random);
    choose_transfer(random);
    struct vnode *root = vfs_root();
    const struct ext2 *fs = EXT2(root->mount);
    vrele(root);
    uint32_t last = operate_until_told(random, count, &op), first = op ? last - 1 : last;
    drive_is_well();
    if (getenv("EXT2_STEPS"))
        printf("%s of sector %d failed %s, at transfer %u of %u\n", shared->what ? shared->what : "nothing",
               (int)shared->sector, how_it_fails[fails_how], fails_at, middle->transfers);
    /*
     * Without a log a drive that writes nothing for a while may lose all delayed blocks: the rest is sound.
     */
    bool gone = !with_log && fails_how == DEAD && shared->what && strcmp(shared->what, "read"), whole = gone;
    const char *but = op ? op->parts : 0;
    if (!gone) {
        draw_all(&shared->seen);
        is_tree_of("behind it", first, last, but, false);
    }
    for (uint32_t i = first; i <= last; i++)
        whole |= trees_alike(shared->seen.text, middle->tree[i], but, true);
    bool ended = fs->mount.read_only, lost = vfs_sync() != 0;
    CHECK(whole || lost || op); /* losses are reported */
    shared->told = unmount_and_look(fs, op, &lost);
    draw_what_is_left("unmounted", true);
    if (!ended && !lost && !gone)
        is_tree_of("unmounted", first, last, but, whole && !shared->told);
    _exit(0);
}

static void transfers_fail_somewhere(bool with_journal)
{
    const char *only = getenv("EXT2_TRANSFERS"), *one = getenv("EXT2_MIDDLE");
    bool all = only && (!strcmp(only, "all") || !strcmp(only, "middle"));
    unsigned wrong = 0, asked = 0, reached = 0;
    if (only && !all)
        return;
    transfers_begin(with_journal, 24);
    middle = mmap(0, sizeof *middle, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(middle != MAP_FAILED);
    for (unsigned i = one ? (unsigned)atoi(one) : 0, end = one ? i + 1 : all ? MIDDLES_ALL : MIDDLES; i < end; i++) {
        struct random random = random_from(79, i);
        fflush(stdout);
        shared->told = false;
        pid_t child = fork();
        if (!child)
            fail_somewhere(random);
        int status;
        waitpid(child, &status, 0);
        if (status)
            printf("middle %u: status %d\n", i, status);
        wrong += status != 0;
        asked += shared->told;
        reached += shared->reached;
    }
    printf("%u transfers failed in the middle, after %u e2fsck was asked for, %u wrong\n", reached, asked, wrong);
    transfers_end(wrong);
}

HOST_TEST(a_transfer_fails_in_the_middle)
{
    transfers_fail_somewhere(false);
}

HOST_TEST(a_transfer_fails_in_the_middle_with_a_journal)
{
    transfers_fail_somewhere(true);
}
