/*
 * NFS, the client's file system over the server's over ext2, in one program: the same operations as on the host's file
 * system, over a wire that loses and repeats messages, in both versions; calls and answers of any content; handles of
 * removed files. NFS_CALLS in the environment says how many calls. Sources: nfs/server.c nfs/serve.c
 * nfs/cache.c nfs/nfs_xdr.c nfs/rpc.c nfs/ops.c nfs/node.c nfs/mount.c fs/ext2_handle.c
 * fs/bio.c fs/freelist.c fs/ext2_mount.c fs/ext2_alloc.c fs/ext2_inode.c fs/ext2_bmap.c fs/ext2_dir.c fs/ext2_ops.c
 * fs/ext2_journal.c fs/ext2_transaction.c fs/vfs.c fs/namecache.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c
 * lib/bootargs.c. Options: BUFFERS_BUCKETS=0 ALLOC_GROUPS=0 NFS=1 TCPIP_FILE="net/policy/connection.h"
 */
#include "test/host/nfs_world.h"

#define HOSTILE_CALLS 100000u

/* Both ends -------------------------------------------------------------------------------------------------------- */

static struct vnode *client_root(void)
{
    struct vnode *vp;
    CHECK(!client->mount.ops->root(&client->mount, &vp));
    return vp;
}

/* From here on ext2.c and the host work in the folder `served`, this kernel through NFS. */
static void begin_both(const char *from, uint32_t seed)
{
    struct mount *m;
    begin(8192, "-b 1024 -I 128 -N 1024", 32, 40, seed);
    CHECK_EQUAL(vfs_make(0, "served", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_make(0, "mounted", VDIR, 0755, 0, 0), 0);
    CHECK(!mkdir("served", 0755) && !chdir("served"));
    CHECK_EQUAL(nfs_server_begin(vfs_root(), false, 1), 0);
    CHECK_EQUAL(nfs_mount(from, false, &m), 0);
    CHECK_EQUAL(vfs_mount(0, "mounted", m), 0);
    vfs_caller_root = client_root;
}

static struct vnode *no_caller_root(void)
{
    return 0;
}

static void end_both(void)
{
    vfs_caller_root = no_caller_root;
    damages = loses = repeats = 0;
    nothing_is_held();
    CHECK_EQUAL(vfs_unmount(0, "mounted"), 0);
    CHECK_EQUAL(nfs_server_counts.unmounted, 1);
    while (answer_count)
        free(answers[--answer_count]);
    nfs_server_end();
    CHECK(!strstr(host_output(), "is wrong"));
    end();
}

/* Tests ------------------------------------------------------------------------------------------------------------ */

static void same_operations(const char *from, uint32_t seed)
{
    begin_both(from, seed);
    loses = repeats = 10;
    for (unsigned i = 0; i < 500; i++) {
        random_operation();
        if (i % 50 == 49)
            same_tree("."); /* afterwards blocks and attributes of all files are cached for a while */
    }
    vfs_caller_root = no_caller_root;
    CHECK(!chdir(".."));
    same_tree("served"); /* the server's own view */
    end_both();
    CHECK(nfs_server_counts.repeated && nfs_client_counts.again);
}

HOST_TEST(operations_of_version_3_are_those_of_the_host)
{
    same_operations("10.0.0.2:/served", 1);
}

HOST_TEST(operations_of_version_2_are_those_of_the_host)
{
    same_operations("10.0.0.2:/served,vers=2", 2);
}

static int write_at(struct vnode *vp, uint64_t offset, const char *text)
{
    struct uio uio;
    uio_kernel(&uio, (void *)text, (uint32_t)strlen(text), offset, true);
    return vfs_write(vp, &uio, false);
}

static int read_at(struct vnode *vp, uint64_t offset, char *text, uint32_t n)
{
    struct uio uio;
    uio_kernel(&uio, text, n, offset, false);
    int error = vfs_read(vp, &uio);
    return error ? error : (int)(n - uio.left);
}

static bool is_counted(void *arg, const struct dirent_out *entry)
{
    (void)entry;
    ++*(unsigned *)arg;
    return true;
}

static unsigned entries_of(const char *path)
{
    struct vnode *vp;
    CHECK_EQUAL(namei(0, path, true, &vp), 0);
    unsigned count = 0;
    CHECK_EQUAL(vfs_readdir(vp, 0, is_counted, &count), 0);
    vrele(vp);
    return count;
}

HOST_TEST(a_file_that_is_removed_or_replaced_while_in_use_stays_until_nobody_has_it)
{
    struct vnode *vp, *other, *third;
    char text[8];
    begin_both("10.0.0.2:/served", 3);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    CHECK_EQUAL(write_at(vp, 0, "first"), 0);
    CHECK_EQUAL(vfs_remove(0, "a", false), 0);
    CHECK_EQUAL(entries_of("."), 3); /* and its hidden name */
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &other), 0);
    CHECK_EQUAL(vfs_open(0, "b", VFS_CREATE, 0644, &third), 0);
    vrele(third);
    CHECK_EQUAL(vfs_rename(0, "b", "a"), 0);
    CHECK_EQUAL(read_at(vp, 0, text, 5), 5);
    CHECK(!memcmp(text, "first", 5));
    vrele(vp);
    CHECK_EQUAL(entries_of("."), 4); /* "a", and the file that it replaced */
    CHECK_EQUAL(write_at(other, 0, "other"), 0);
    vrele(other);
    CHECK_EQUAL(entries_of("."), 3);
    end_both();
}

HOST_TEST(a_handle_of_a_file_that_is_gone_is_stale)
{
    struct vnode *vp, *other;
    struct vattr attr, now;
    char text[8];
    begin_both("10.0.0.2:/served", 4);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    CHECK_EQUAL(vfs_getattr(vp, &attr), 0);
    vfs_caller_root = no_caller_root;
    CHECK_EQUAL(vfs_remove(0, "served/a", false), 0); /* by the server itself */
    CHECK_EQUAL(vfs_open(0, "served/b", VFS_CREATE, 0644, &other), 0);
    CHECK_EQUAL(vfs_getattr(other, &now), 0);
    CHECK_EQUAL(now.ino, attr.ino);
    vrele(other);
    CHECK_EQUAL(vfs_getattr(vp, &attr), 0); /* as it was */
    ticks += 64 * 10000; /* its cached attributes expire */
    CHECK_EQUAL(vfs_getattr(vp, &attr), -ESTALE);
    CHECK_EQUAL(write_at(vp, 0, "x"), -ESTALE);
    CHECK_EQUAL(read_at(vp, 0, text, 5), -ESTALE);
    vrele(vp);
    end_both();
}

HOST_TEST(what_is_written_is_read_among_what_was_there)
{
    struct vnode *vp;
    char text[16];
    begin_both("10.0.0.2:/served", 14);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    CHECK_EQUAL(write_at(vp, 0, "first"), 0);
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 5); /* the file's block is here now */
    CHECK_EQUAL(write_at(vp, 2, "X"), 0);
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 5);
    CHECK(!memcmp(text, "fiXst", 5));
    CHECK_EQUAL(vfs_truncate(vp, 3), 0);
    CHECK_EQUAL(vfs_truncate(vp, 5), 0);
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 5);
    CHECK(!memcmp(text, "fiX\0\0", 5));
    vrele(vp);
    end_both();
}

HOST_TEST(what_the_server_appends_is_read)
{
    struct vnode *vp, *its;
    char text[16];
    begin_both("10.0.0.2:/served", 13);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    CHECK_EQUAL(write_at(vp, 0, "first"), 0);
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 5);
    vfs_caller_root = no_caller_root;
    CHECK_EQUAL(vfs_open(0, "served/a", VFS_WRITE, 0, &its), 0);
    CHECK_EQUAL(write_at(its, 5, " more"), 0); /* and its time of modification is the same */
    vrele(its);
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 5); /* its cached attributes are believed */
    ticks += 64 * 10000;
    CHECK_EQUAL(read_at(vp, 0, text, sizeof text), 10);
    CHECK(!memcmp(text, "first more", 10));
    vrele(vp);
    end_both();
}

HOST_TEST(nothing_changes_on_a_server_that_is_only_read)
{
    struct vnode *vp;
    begin_both("10.0.0.2:/served", 5);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    nfs_export.read_only = true;
    CHECK_EQUAL(write_at(vp, 0, "x"), -EROFS);
    CHECK_EQUAL(vfs_truncate(vp, 3), -EROFS);
    CHECK_EQUAL(vfs_make(0, "e", VDIR, 0755, 0, 0), -EROFS);
    CHECK_EQUAL(vfs_make(0, "e", VLNK, 0777, 0, "a"), -EROFS);
    CHECK_EQUAL(vfs_link(0, "a", "b"), -EROFS);
    CHECK_EQUAL(vfs_rename(0, "a", "b"), -EROFS);
    vrele(vp);
    CHECK_EQUAL(vfs_remove(0, "a", false), -EROFS);
    CHECK_EQUAL(vfs_remove(0, "d", true), -EROFS);
    CHECK_EQUAL(entries_of("."), 4);
    end_both();
}

HOST_TEST(what_is_repeated_is_done_once)
{
    struct vnode *vp;
    begin_both("10.0.0.2:/served", 6);
    repeats = 100;
    for (unsigned i = 0; i < 40; i++) {
        CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
        CHECK_EQUAL(vfs_open(0, "d/a", VFS_CREATE | VFS_EXCLUSIVE, 0644, &vp), 0);
        vrele(vp);
        CHECK_EQUAL(vfs_rename(0, "d/a", "b"), 0);
        CHECK_EQUAL(vfs_link(0, "b", "c"), 0);
        CHECK_EQUAL(vfs_remove(0, "b", false), 0);
        CHECK_EQUAL(vfs_remove(0, "c", false), 0);
        CHECK_EQUAL(vfs_remove(0, "d", true), 0);
    }
    CHECK(nfs_server_counts.repeated > 200);
    end_both();
}

/* Messages of any content ------------------------------------------------------------------------------------------ */

#define CALLS_KEPT 512
static uint8_t *kept[CALLS_KEPT];
static uint32_t kept_sizes[CALLS_KEPT], kept_count;

static void keep_call(const uint8_t *message, uint32_t n)
{
    uint32_t at = kept_count < CALLS_KEPT ? kept_count++ : random_below(&chance, CALLS_KEPT);
    free(kept[at]);
    kept[at] = copy_of(message, n);
    kept_sizes[at] = n;
}

static void some_operation(void)
{
    char a[PATH_MOST], b[PATH_MOST];
    struct statfs_out fs;
    struct vattr attr;
    struct vnode *vp = 0;
    some_name(a);
    some_name(b);
    switch (random_below(&chance, 9)) {
    case 0: vfs_make(0, a, VDIR, 0755, 0, 0); break;
    case 1: vfs_make(0, a, VLNK, 0777, 0, b); break;
    case 2: pwrite_ours(a, random_below(&chance, 5000), b, (uint32_t)strlen(b)); break;
    case 3: vfs_remove(0, a, random_below(&chance, 2)); break;
    case 4: vfs_rename(0, a, b); break;
    case 5: vfs_link(0, a, b); break;
    case 6: truncate_ours(a, random_below(&chance, 5000)); break;
    case 7: vfs_make(0, a, VFIFO, 0644, 0, 0); break;
    case 8:
        if (namei(0, a, random_below(&chance, 2), &vp))
            break;
        vfs_statfs(vp, &fs);
        attr = (struct vattr){.mode = 0600, .uid = 1, .mtime = 5};
        vfs_setattr(vp, &attr, ATTR_MODE | ATTR_OWNER | ATTR_MTIME);
        read_at(vp, random_below(&chance, 3000), b, 100);
        vrele(vp);
    }
    nothing_is_held();
}

HOST_TEST(the_same_call_of_another_client_is_done_again)
{
    struct vnode *vp;
    begin_both("10.0.0.2:/served", 12);
    CHECK_EQUAL(vfs_open(0, "a", VFS_CREATE, 0644, &vp), 0);
    vrele(vp);
    sent_call = keep_call;
    CHECK_EQUAL(vfs_remove(0, "a", false), 0);
    sent_call = 0;
    for (uint32_t port = NFS_PORT; port <= NFS_PORT + 1; port++) {
        uint32_t n = kept_sizes[kept_count - 1]; /* REMOVE */
        int left = vfs_open(0, "a", VFS_CREATE, 0644, &vp);
        CHECK_EQUAL(left, 0);
        vrele(vp);
        free(served(kept[kept_count - 1], &n, port));
        left = vfs_open(0, "a", 0, 0, &vp);
        CHECK_EQUAL(left, port == NFS_PORT ? 0 : -ENOENT);
        if (!left)
            vrele(vp);
    }
    while (kept_count)
        free(kept[--kept_count]);
    end_both();
}

static void calls_of_any_content(const char *from, uint32_t seed)
{
    const char *asked = getenv("NFS_CALLS");
    uint32_t calls = asked ? (uint32_t)atoi(asked) : HOSTILE_CALLS / 2 * host_times(), answered = 0;
    begin_both(from, seed);
    sent_call = keep_call;
    for (unsigned i = 0; i < 300; i++)
        some_operation();
    sent_call = 0;
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t which = random_below(&chance, kept_count), n = kept_sizes[which];
        uint8_t *call = damaged_copy(kept[which], &n, 0), *reply = served(call, &n, 1000);
        answered += n != 0;
        free(call);
        free(reply);
    }
    CHECK(answered > calls / 2);
    ticks += 64 * 10000;
    for (unsigned i = 0; i < 100; i++)
        some_operation();
    while (kept_count)
        free(kept[--kept_count]);
    nfs_server_counts.unmounted = 0;
    end_both();
}

HOST_TEST(calls_of_any_content_of_version_3)
{
    calls_of_any_content("10.0.0.2:/served", 7);
}

HOST_TEST(calls_of_any_content_of_version_2)
{
    calls_of_any_content("10.0.0.2:/served,vers=2", 8);
}

static void answers_of_any_content(const char *from, uint32_t seed)
{
    begin_both(from, seed);
    for (unsigned i = 0; i < 6000 * host_times(); i++) {
        damages = 30;
        some_operation();
        ticks += 64 * 1000;
    }
    end_both();
}

HOST_TEST(answers_of_any_content_of_version_3)
{
    answers_of_any_content("10.0.0.2:/served,soft", 9);
}

HOST_TEST(answers_of_any_content_of_version_2)
{
    answers_of_any_content("10.0.0.2:/served,vers=2,soft", 10);
}

HOST_TEST(what_is_no_address_or_option_is_refused)
{
    static const char *const wrong[] = {"",
                                        "10.0.0.2",
                                        "10.0.0:/",
                                        "10.0.0.256:/",
                                        "a.b.c.d:/",
                                        "10.0.0.2:served",
                                        "10.0.0.2:/,v=3",
                                        "10.0.0.2:/,vers=2,",
                                        "-1.0.0.2:/",
                                        "10.0.0.2:/served,softer"};
    struct mount *m;
    begin_both("10.0.0.2:/served,hard,vers=3", 11);
    vfs_caller_root = no_caller_root;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_EQUAL(nfs_mount(wrong[i], false, &m), -EINVAL);
    struct nfs_mount *mounted = client;
    CHECK_EQUAL(nfs_mount("10.0.0.3:/", false, &m), -EDEADLK);
    CHECK_EQUAL(nfs_mount("10.0.0.2:/nowhere", false, &m), -ENOENT);
    client = mounted;
    end_both();
}
