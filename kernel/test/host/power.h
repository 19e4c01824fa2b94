/*
 * Power cuts (included by ext2.c): a drive with a cache, of which a power cut keeps any of the sectors written since
 * the last flush, in any version; a load that knows what fsync has acknowledged; and a check of what must be left. One
 * run has many cuts: at each a copy of the process checks what would be left then.
 *
 * Files consist of words that say where they belong: file, number of the write, place. A file's name ends in its
 * number, whatever it is called. So misplaced contents show anywhere.
 *
 * Besides, directories with a hash tree and files with extended attributes, some of them shared, as other systems make
 * them, whose names come and go: the image must be sound. With a journal, the mount that replays it is cut,
 * too: a replay of what is left of that gives the same.
 *
 * In the environment, EXT2_CUTS: how many cuts for each kind of load; EXT2_SEED: of the first run.
 */
struct word {
    uint16_t file, version;
    uint32_t place;
};

#define FILES 12
#define WORDS 40000u /* of a file: it reaches beyond the first double indirect block */
#define NAMES 8

struct model {
    unsigned number;       /* 0: none */
    bool named;            /* it exists, as far as is known */
    char name[64];
    uint16_t version;
    uint32_t size;         /* words */
    uint16_t *words;       /* their versions; 0: never written */
    bool synced, removed, cut; /* since sync: it may be gone, or shorter */
    uint32_t synced_size;
    uint16_t *synced_words;
    char names[NAMES][64]; /* its names since sync: one of them exists */
    unsigned names_count;
};

static struct model models[FILES];
static unsigned last_number;

static struct {
    uint32_t sector;
    uint8_t data[SECTOR_SIZE];
} *cached; /* what has been written since the last flush, in order */
static unsigned cached_count, cached_most;
static uint8_t *medium; /* what is certain */
static unsigned until_cut, cuts_left;
static uint32_t power_seed;
static bool journalled;
static bool shortest_log;    /* the shortest that can be mounted, and cuts only behind each commit */
static bool commit_written;
static int to_recover, from_recover;
static unsigned until_replay_is_cut; /* 0: not cut */
static struct replay { /* what a new process is to mount, and when it is cut: 0, never */
    char folder[64], name[16];
    unsigned cut, seed;
} replay;

static void cache_sectors(uint32_t sector, const uint8_t *data, uint32_t size)
{
    for (; size; size -= SECTOR_SIZE, data += SECTOR_SIZE, sector++) {
        if (cached_count == cached_most) {
            cached_most = cached_most ? 2 * cached_most : 1024;
            cached = realloc(cached, cached_most * sizeof *cached);
            CHECK(cached);
        }
        cached[cached_count].sector = sector;
        memcpy(cached[cached_count++].data, data, SECTOR_SIZE);
    }
}

static void perhaps_cut(void);
static void cut_now(void);

static int flush_cache(struct blockdev *d)
{
    CHECK(d == &device);
    if (random_below(&chance, 4) == 0)
        perhaps_cut(); /* when there is most to lose */
    for (unsigned i = 0; i < cached_count; i++)
        memcpy(medium + (size_t)cached[i].sector * SECTOR_SIZE, cached[i].data, SECTOR_SIZE);
    cached_count = 0;
    if (commit_written && shortest_log && cuts_left)
        cut_now();
    commit_written = false;
    return 0;
}

/*
 * `disk` becomes what is left now: of each sector the certain version, or one that has been written since, or is
 * being written.
 */
static void lose(void)
{
    for (unsigned i = 0; i < pendings; i++)
        if (pending[i].run) {
            const struct bufrun *run = pending[i].run;
            for (uint32_t n = 0; run->write && n < run->count; n++)
                cache_sectors(run->buf[n]->sector, run->buf[n]->data, run->buf[n]->size);
        } else if (!(pending[i].bp->flags & B_READ)) {
            cache_sectors(pending[i].bp->sector, pending[i].bp->data, pending[i].bp->size);
        }
    static const unsigned odds[] = {0, 1, 8, 15, 16};
    unsigned kept = odds[random_below(&chance, 5)], end = cached_count, one = UINT32_MAX;
    switch (random_below(&chance, 4)) {
    case 0: end = random_below(&chance, cached_count + 1); break; /* in order */
    case 1: /* all but one, or only one */
        kept = random_below(&chance, 4) ? 16 : 0;
        one = cached_count ? cached[random_below(&chance, cached_count)].sector : 0;
        break;
    }
    memcpy(disk, medium, disk_size);
    for (unsigned i = 0; i < end; i++)
        if ((random_below(&chance, 16) < kept) != (cached[i].sector == one))
            memcpy(disk + (size_t)cached[i].sector * SECTOR_SIZE, cached[i].data, SECTOR_SIZE);
}

/* What is left ----------------------------------------------------------------------------------------------------- */

static struct word *file_at(const char *path, uint32_t *words)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    static struct word room[WORDS + 1];
    size_t bytes = fread(room, 1, sizeof room, file);
    fclose(file);
    if (bytes % sizeof *room)
        host_failed(__FILE__, __LINE__, "%s: %zu bytes", path, bytes);
    *words = (uint32_t)(bytes / sizeof *room);
    return room;
}

static bool is_zero(const struct word *w)
{
    return !w->file && !w->version && !w->place;
}

static void all_is_its_own(const char *path, unsigned number)
{
    uint32_t words;
    const struct word *w = file_at(path, &words);
    CHECK(w);
    for (uint32_t i = 0; i < words; i++) {
        if (is_zero(&w[i]))
            continue;
        number = number ? number : w[i].file; /* in lost+found */
        if (w[i].file != number || w[i].place != i)
            host_failed(__FILE__, __LINE__, "%s, word %u: is word %u of file %u", path, i, w[i].place, w[i].file);
    }
}

static void all_are_their_own(const char *at)
{
    DIR *dir = opendir(at);
    CHECK(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        char below[PATH_MAX];
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || d->d_type == DT_LNK)
            continue;
        snprintf(below, sizeof below, "%s/%s", at, d->d_name);
        if (d->d_type == DT_DIR)
            all_are_their_own(below);
        else
            all_is_its_own(below, strchr(d->d_name, '_') ? (unsigned)atoi(strchr(d->d_name, '_') + 1) : 0);
    }
    closedir(dir);
}

static bool has_what_was_synced(const struct model *m, const char *path)
{
    uint32_t words;
    const struct word *w = file_at(path, &words);
    if (!w || m->cut)
        return w != 0;
    if (words < m->synced_size)
        host_failed(__FILE__, __LINE__, "%s: %u words, of which fsync has acknowledged %u", path, words,
                    m->synced_size);
    for (uint32_t i = 0; i < m->synced_size; i++)
        if (w[i].version < m->synced_words[i])
            host_failed(__FILE__, __LINE__, "%s, word %u: version %u, but fsync has acknowledged %u", path, i,
                        w[i].version, m->synced_words[i]);
    return true;
}

/* Checks the tree that `what` has made of the image. */
static void look_at_tree(const char *of, const char *tree)
{
    char path[PATH_MAX];
    shell("PATH=$PATH:/usr/sbin:/sbin; mkdir %s/%s && debugfs -R 'rdump / %s/%s' %s/%s >%s/rdump 2>&1 && "
          "! grep -v -e ^debugfs -e ^rdump.*changing.ownership %s/rdump",
          folder, tree, folder, tree, folder, of, folder, folder);
    snprintf(path, sizeof path, "%s/%s", folder, tree);
    all_are_their_own(path);
    for (const struct model *m = models; m < models + FILES; m++) {
        bool found = !m->synced || m->removed;
        for (unsigned i = 0; i < m->names_count && !found; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", folder, tree, m->names[i]);
            found = has_what_was_synced(m, path);
        }
        if (!found)
            host_failed(__FILE__, __LINE__, "file %u, which fsync has acknowledged as %s, is gone", m->number,
                        m->names[0]);
    }
}

static void perhaps_cut_replay(void)
{
    if (!until_replay_is_cut || --until_replay_is_cut)
        return;
    lose();
    write_image();
    _exit(0);
}

static void cache_and_perhaps_cut_replay(uint32_t sector, const uint8_t *data, uint32_t size)
{
    cache_sectors(sector, data, size);
    perhaps_cut_replay();
}

static int flush_and_perhaps_cut_replay(struct blockdev *d)
{
    perhaps_cut_replay();
    return flush_cache(d);
}

/* A new process mounts and unmounts an image, or is cut while it does. */
static void recover(void)
{
    while (read(to_recover, &replay, sizeof replay) == (ssize_t)sizeof replay) {
        int status;
        pid_t child = fork();
        if (!child) {
            strcpy(folder, replay.folder);
            snprintf(image, sizeof image, "%s/%s", folder, replay.name);
            read_image();
            medium = malloc(disk_size);
            CHECK(medium);
            memcpy(medium, disk, disk_size);
            chance = random_from(replay.seed, 9);
            until_replay_is_cut = replay.cut;
            written = cache_and_perhaps_cut_replay;
            device.flush = flush_and_perhaps_cut_replay;
            pages_init(BASE, BASE + sizeof memory);
            host_lock_waits = others_run;
            bio_start(80, chains);
            inodes_init(20);
            namecache_init();
            strcpy(bootargs, "journal=1"); /* else no transaction removes orphans, which e2fsck may have to mend */
            remount();
            CHECK_EQUAL(vfs_unmount_all(), 0);
            write_image();
            _exit(0);
        }
        waitpid(child, &status, 0);
        CHECK(write(from_recover, &status, sizeof status) == (ssize_t)sizeof status);
    }
    _exit(0);
}

static void mount_and_unmount(const char *name, unsigned cut)
{
    struct replay it = {.cut = cut, .seed = random_below(&chance, 1u << 30)};
    int status;
    strcpy(it.folder, folder);
    strcpy(it.name, name);
    CHECK(write(to_recover, &it, sizeof it) == sizeof it);
    CHECK(read(from_recover, &status, sizeof status) == sizeof status);
    CHECK_EQUAL(status, 0);
}

static void begin_recover(void)
{
    int there[2], back[2];
    CHECK(!pipe(there) && !pipe(back));
    if (!fork()) {
        close(there[1]), close(back[0]);
        to_recover = there[0], from_recover = back[1];
        recover();
    }
    close(there[0]), close(back[1]);
    to_recover = there[1], from_recover = back[0];
}

static void look_at_what_is_left(void)
{
    lose();
    write_image();
    shell("cp %s %s/ours && cp %s %s/half", image, folder, image, folder);
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s >%s/fsck 2>&1; [ $? -le 1 ] || { cat %s/fsck; false; }", image,
          folder, folder);
    if (journalled) /* with a journal there is nothing to mend */
        shell("! grep -v lost.found %s/fsck | grep -q '? yes' || { cat %s/fsck; false; }", folder, folder);
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s >%s/fsck 2>&1 || { cat %s/fsck; false; }", image, folder, folder);
    look_at_tree("image", "tree");
    if (!journalled)
        return;
    mount_and_unmount("ours", 0);
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/ours >%s/fsck 2>&1 || { cat %s/fsck; false; }", folder, folder,
          folder);
    look_at_tree("ours", "our-tree");
    shell("cd %s; diff -r --no-dereference -x lost+found tree our-tree",
          folder); /* e2fsck and this kernel replay it alike */
    unsigned cuts = 1 + random_below(&chance, 3);
    while (cuts--)
        mount_and_unmount("half", 1 + random_below(&chance, 50));
    if (random_below(&chance, 2))
        mount_and_unmount("half", 0);
    shell(
        "PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s/half >%s/fsck 2>&1; [ $? -le 1 ] && ! grep -v lost.found %s/fsck | "
        "grep -q '? yes' || { cat %s/fsck; false; }",
        folder, folder, folder, folder);
    shell("rm -r %s/our-tree", folder);
    look_at_tree("half", "our-tree");
    shell("cd %s; diff -r --no-dereference -x lost+found tree our-tree", folder);
}

static void perhaps_cut(void)
{
    if (!cuts_left || shortest_log || --until_cut)
        return;
    until_cut = 1 + random_below(&chance, 60);
    cut_now();
}

static void cut_now(void)
{
    cuts_left--;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        look_at_what_is_left();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    shell("rm -rf %s/tree %s/our-tree", folder, folder);
    if (status)
        host_failed(__FILE__, __LINE__, "with EXT2_SEED=%u, %u cuts before the end", power_seed, cuts_left);
}

static void cache_and_perhaps_cut(uint32_t sector, const uint8_t *data, uint32_t size)
{
    static const uint8_t commit[] = {0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 2};
    cache_sectors(sector, data, size);
    commit_written |= !memcmp(data, commit, sizeof commit);
    perhaps_cut();
}

/* The load --------------------------------------------------------------------------------------------------------- */

static void new_name(const struct model *m, char name[64])
{
    static const char *const where[] = {"", "a/", "b/", "b/c/"};
    snprintf(name, 64, "%s%c%.*s_%u", where[random_below(&chance, 4)], 'a' + random_below(&chance, 26),
             (int)random_below(&chance, 30), "long-long-long-long-long-long-", m->number);
}

static void add_name(struct model *m, const char *name)
{
    if (m->names_count < NAMES)
        strcpy(m->names[m->names_count++], name);
    else
        m->removed = true; /* its state is no longer known */
}

static void make_file(struct model *m)
{
    uint16_t *words = m->words, *synced = m->synced_words;
    *m = (struct model){.number = ++last_number, .words = words, .synced_words = synced, .named = true};
    memset(words, 0, WORDS * sizeof *words);
    new_name(m, m->name);
}

static void write_words(struct model *m)
{
    static struct word data[2048];
    uint32_t most = random_below(&chance, 5) ? 2500 : WORDS - 2000;
    uint32_t at = random_below(&chance, 2) ? m->size : random_below(&chance, most), n = 1 + random_below(&chance, 1999);
    if (random_below(&chance, 3) == 0)
        at &= ~127u, n = (n & ~127u) + 128; /* whole blocks */
    if (at + n > WORDS)
        return;
    m->version++;
    for (uint32_t i = 0; i < n; i++)
        data[i] = (struct word){(uint16_t)m->number, m->version, at + i};
    int error = pwrite_ours(m->name, at * sizeof *data, data, n * sizeof *data);
    CHECK(!error || error == -ENOSPC);
    if (error)
        return;
    for (uint32_t i = 0; i < n; i++)
        m->words[at + i] = m->version;
    m->size = MAX(m->size, at + n);
}

static void sync_file(struct model *m)
{
    struct vnode *vp;
    if (namei(0, m->name, true, &vp))
        return;
    CHECK_EQUAL(vfs_fsync(vp), 0);
    vrele(vp);
    m->synced = true;
    m->removed = m->cut = false;
    m->synced_size = m->size;
    memcpy(m->synced_words, m->words, WORDS * sizeof *m->words);
    m->names_count = 0;
    add_name(m, m->name);
}

static void cut_file(struct model *m)
{
    uint32_t to = m->size ? random_below(&chance, m->size) : 0;
    m->cut = true;
    int error = truncate_ours(m->name, to * sizeof(struct word));
    CHECK(!error || error == -ENOENT);
    if (error)
        return;
    memset(m->words + to, 0, (m->size - to) * sizeof *m->words);
    m->size = to;
}

static void rename_file(struct model *m)
{
    char name[64];
    struct model *over = &models[random_below(&chance, FILES)];
    bool replaces = over != m && over->named && random_below(&chance, 4) == 0;
    new_name(m, name);
    add_name(m, name);
    if (replaces) { /* by a name with the other's number, which ours cannot keep */
        over->removed = true;
        if (!vfs_rename(0, m->name, name) && !vfs_link(0, name, "a/over") && !vfs_rename(0, over->name, "a/over"))
            over->named = false;
        vfs_remove(0, "a/over", false);
    } else if (random_below(&chance, 3)) {
        CHECK_EQUAL(vfs_rename(0, m->name, name), 0);
    } else if (!vfs_link(0, m->name, name)) {
        vfs_remove(0, m->name, false);
    } else {
        return;
    }
    strcpy(m->name, name);
}

#define INDEXED 6u /* directories with a hash tree */
#define IN_INDEX 30u

static int name_in_index(char name[100], unsigned in, unsigned n)
{
    static const enum vtype kinds[] = {VREG, VDIR, VLNK};
    snprintf(name, 100, "i%u/%c%060u", in, "fdl"[n % 3], n);
    return kinds[n % 3];
}

static int make_in_index(unsigned in, unsigned n)
{
    char name[100], text[121];
    int kind = name_in_index(name, in, n);
    memset(text, 't', sizeof text);
    text[1 + n * 11 % 120] = 0;
    return vfs_make(0, name, kind, 0755, 0, kind == VLNK ? text : 0);
}

static void change_in_index(void)
{
    char name[100], other[100];
    unsigned n = random_below(&chance, IN_INDEX), in = random_below(&chance, INDEXED);
    bool directory = name_in_index(name, in, n) == VDIR;
    switch (random_below(&chance, 4)) {
    case 0: make_in_index(in, n); break;
    case 1:
        name_in_index(other, random_below(&chance, INDEXED), n);
        vfs_rename(0, name, other);
        break;
    default: vfs_remove(0, name, directory);
    }
}

/* As other systems leave it: names, shared attributes, hash trees. */
static void made_by_others(void)
{
    char name[100];
    FILE *commands;
    for (unsigned in = 0; in < INDEXED; in++) {
        snprintf(name, sizeof name, "i%u", in);
        CHECK_EQUAL(vfs_make(0, name, VDIR, 0755, 0, 0), 0);
        for (unsigned n = 0; n < IN_INDEX; n++)
            if (random_below(&chance, 6)) /* the others come later */
                CHECK_EQUAL(make_in_index(in, n), 0);
    }
    CHECK_EQUAL(vfs_unmount_all(), 0);
    debugfs_begins(&commands);
    for (unsigned i = 0; i < INDEXED * IN_INDEX; i++)
        /* e2fsck 1.47.0 forgets the attributes of a short link that a journal says is to be removed. */
        if (random_below(&chance, 3) && !(journalled && i % 3 == 2 && 1 + i % IN_INDEX * 11 % 120 < 60)) {
            name_in_index(name, i / IN_INDEX, i % IN_INDEX);
            fprintf(commands, "ea_set %s user.a%u %0*u\n", name, i % 3, 1 + (int)random_below(&chance, 200), i);
        }
    fclose(commands);
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; cd %s; debugfs -w -f commands image >said 2>&1; e2fsck -fyD image >said 2>&1; "
          "[ $? -le 1 ]",
          folder);
    read_image();
    CHECK(share_attributes() > INDEXED * IN_INDEX / 3 || inode_size_on_disk() > 128);
}

static void set_length_of_log(uint32_t length)
{
    uint8_t *at = disk + (size_t)inode_at(8)->block[0] * 1024 + 16;
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(length >> (24 - 8 * i));
}

/* The shortest log that can be mounted; a shorter one is refused, in one line that says how long it must be. */
static void mount_with_the_shortest_log(void)
{
    struct mount *m;
    uint32_t length = 10, wanted = 0;
    for (set_length_of_log(length); ext2_mount(&device, false, &m); set_length_of_log(++length)) {
        const char *said = strstr(host_output(), ", and "), *end = strchr(host_output(), '\n');
        CHECK(length < 1000 && said && end && !end[1]);
        wanted = (uint32_t)strtoul(said + 6, 0, 10);
        host_output_clear();
        CHECK(!(((const struct ext2_super *)(disk + 1024))->incompat & EXT2_INCOMPAT_RECOVER));
    }
    CHECK_EQUAL(length, wanted);
    CHECK_EQUAL(vfs_mount_root(m), 0);
}

static void one_thing(void)
{
    if (random_below(&chance, 4) == 0) {
        change_in_index();
        return;
    }
    struct model *m = &models[random_below(&chance, FILES)];
    char name[64];
    if (!m->named) {
        make_file(m);
        write_words(m);
        struct vnode *vp;
        m->named = !namei(0, m->name, true, &vp);
        if (m->named)
            vrele(vp);
        return;
    }
    switch (random_below(&chance, 12)) {
    case 0:
    case 1: sync_file(m); break;
    case 2: cut_file(m); break;
    case 3:
    case 4: rename_file(m); break;
    case 5:
        m->removed = true;
        CHECK_EQUAL(vfs_remove(0, m->name, false), 0);
        m->named = false;
        break;
    case 6:
        snprintf(name, sizeof name, "%sx%u", random_below(&chance, 2) ? "" : "a/", random_below(&chance, 4));
        if (vfs_make(0, name, VDIR, 0755, 0, 0))
            vfs_remove(0, name, true);
        break;
    case 7:
        if (random_below(&chance, 8) == 0)
            vfs_sync();
        break;
    default: write_words(m);
    }
}

static void power_cuts(bool with_journal, unsigned number, unsigned of_run)
{
    journalled = with_journal;
    begin_recover();
    if (with_journal)
        with_a_journal();
    static uint16_t rooms[FILES][2][WORDS];
    for (unsigned i = 0; i < FILES; i++) {
        models[i].words = rooms[i][0];
        models[i].synced_words = rooms[i][1];
    }
    power_seed = number;
    features = with_journal ? "none,filetype,sparse_super,ext_attr,dir_index,has_journal -J size=1"
                            : "none,filetype,sparse_super,ext_attr,dir_index";
    begin(4096, number % 2 ? "-b 1024 -I 128 -N 512 -g 1024" : "-b 1024 -I 256 -N 512 -g 1024", 80, 12, number);
    made_by_others();
    if (shortest_log)
        mount_with_the_shortest_log();
    else
        remount();
    struct vnode *root = vfs_root();
    CHECK_EQUAL(EXT2(root->mount)->log != 0, with_journal);
    vrele(root);
    medium = malloc(disk_size);
    CHECK(medium);
    memcpy(medium, disk, disk_size);
    written = cache_sectors;
    device.flush = flush_cache;
    vfs_make(0, "a", VDIR, 0755, 0, 0);
    vfs_make(0, "b", VDIR, 0755, 0, 0);
    vfs_make(0, "b/c", VDIR, 0755, 0, 0);
    CHECK_EQUAL(vfs_sync(), 0);
    written = cache_and_perhaps_cut;
    cuts_left = of_run;
    until_cut = 1 + random_below(&chance, 100);
    while (cuts_left)
        one_thing();
    written = cache_sectors;
    end();
    free(medium);
    free(cached);
}

static void many_cuts(bool with_journal)
{

    const char *more = getenv("EXT2_CUTS"), *seed = getenv("EXT2_SEED");
    unsigned cuts = more ? strtoul(more, 0, 10) : 3, number = seed ? strtoul(seed, 0, 10) : 1;
    for (unsigned n; cuts; cuts -= n, number++) {
        n = MIN(cuts, 50);
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            power_cuts(with_journal, number, n);
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        CHECK_EQUAL(status, 0);
    }
}

HOST_TEST(the_power_goes)
{
    many_cuts(false);
}

HOST_TEST(the_power_goes_with_a_journal)
{
    many_cuts(true);
}

/* This kernel mounts what is on the device now, as after a crash: its state in memory does not count. */
static void crash_and_mount(void)
{
    uint8_t *left = malloc(disk_size);
    CHECK(left);
    memcpy(left, disk, disk_size);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    memcpy(disk, left, disk_size);
    free(left);
    mount_there();
    CHECK_EQUAL(vfs_unmount_all(), 0);
}

/* A log of the fewest blocks: each operation may be its own transaction, and each commit a checkpoint. */
HOST_TEST(the_power_goes_behind_each_commit_of_the_shortest_log)
{
    shortest_log = true;
    many_cuts(true);
}

/*
 * With a journal: a block of each kind of metadata is freed, and then has a file's contents; after a crash, e2fsck
 * or this kernel replays the log, which has both the block and its freeing: the contents are unchanged.
 */
HOST_TEST(metadata_of_each_kind_that_are_contents_by_now_do_not_come_back)
{
    static const char *const kinds[] = {"directory", "pointers", "pointers to pointers", "link", "attributes"};
    for (unsigned kind = 0; kind < 2 * (sizeof kinds / sizeof kinds[0]); kind++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            static uint8_t data[12 * 1024];
            char text[201];
            struct vnode *vp;
            uint32_t block = 0;
            FILE *commands;
            with_a_journal();
            features = "none,filetype,sparse_super,ext_attr,has_journal -J size=1";
            begin(2304, "-b 1024 -I 128 -N 256", 80, 20, kind);
            memset(text, 't', 200), text[200] = 0;
            CHECK_EQUAL(pwrite_ours("a", 0, "x", 1), 0);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            debugfs_begins(&commands);
            fprintf(commands, "ea_set a user.a text\n");
            debugfs_ends(commands);
            mount_there();
            switch (kind / 2) {
            case 0: CHECK_EQUAL(vfs_make(0, "m", VDIR, 0755, 0, 0), 0); break;
            case 1: CHECK_EQUAL(pwrite_ours("m", 14 * 1024, "x", 1), 0); break;
            case 2: CHECK_EQUAL(pwrite_ours("m", 300 * 1024, "x", 1), 0); break;
            case 3: CHECK_EQUAL(vfs_make(0, "m", VLNK, 0777, 0, text), 0); break;
            default: CHECK_EQUAL(vfs_rename(0, "a", "m"), 0);
            }
            CHECK_EQUAL(namei(0, "m", false, &vp), 0);
            const struct ext2_inode *d = &INODE(vp)->disk;
            struct ext2 *fs = INODE(vp)->fs;
            block = kind / 2 == 1   ? d->block[12]
                    : kind / 2 == 2 ? d->block[13]
                    : kind / 2 == 4 ? d->attributes
                                    : d->block[0];
            if (kind / 2 == 4) { /* as if it had been changed: then it is in the log */
                ext2_begin(fs);
                struct buf *bp = ext2_bread(fs, block);
                CHECK_EQUAL(ext2_meta(fs, bp, false), 0);
                ext2_end(fs);
            }
            CHECK(block && fs->log);
            vrele(vp);
            CHECK_EQUAL(vfs_sync(), 0);
            CHECK_EQUAL(vfs_remove(0, "m", kind / 2 == 0), 0);
            CHECK_EQUAL(vfs_sync(), 0);
            memset(data, 'x', sizeof data);
            bool used = false;
            for (unsigned n = 0; n < 60 && !used; n++) {
                char name[8];
                snprintf(name, sizeof name, "f%u", n);
                CHECK_EQUAL(pwrite_ours(name, 0, data, sizeof data), 0);
                CHECK_EQUAL(namei(0, name, true, &vp), 0);
                CHECK_EQUAL(vfs_fsync(vp), 0);
                for (unsigned i = 0; i < 12; i++)
                    used |= INODE(vp)->disk.block[i] == block;
                vrele(vp);
            }
            if (!used || disk[block * 1024] != 'x')
                host_failed(__FILE__, __LINE__, "the block of %s is not used again", kinds[kind / 2]);
            write_image();
            if (kind % 2) {
                crash_and_mount();
            } else {
                shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s >/dev/null 2>&1; [ $? -le 1 ]", image);
                read_image();
            }
            if (disk[block * 1024] != 'x' || disk[block * 1024 + 1023] != 'x')
                host_failed(__FILE__, __LINE__, "%s: what was there came back", kinds[kind / 2]);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/*
 * With a journal: metadata that look like the log's own blocks are after a crash what they were, whether e2fsck or this
 * kernel replays the log.
 */
HOST_TEST(metadata_that_look_like_the_log_come_back_as_they_were)
{
    for (unsigned by = 0; by < 2; by++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            enum { LOOKS = JBD_REVOKE + 2 };
            struct vnode *root;
            static uint8_t was[LOOKS][1024];
            uint32_t first;
            with_a_journal();
            features = "none,filetype,sparse_super,has_journal -J size=1";
            begin(2304, "-b 1024 -I 128 -N 256", 80, 20, by);
            root = vfs_root();
            struct ext2 *fs = EXT2(root->mount);
            CHECK(fs->log);
            first = fs->super.blocks - 100;
            CHECK_EQUAL(ext2_begin(fs), 0);
            for (uint32_t type = 0; type < LOOKS; type++) { /* a header of each type, and magic numbers alone */
                uint32_t *words = (uint32_t *)was[type];
                for (uint32_t i = 0; i < 256; i++)
                    words[i] = jbd_big(i % 3 || type == LOOKS - 1 ? JBD_MAGIC : i / 3 + type);
                *(struct jbd_header *)words = (struct jbd_header){jbd_big(JBD_MAGIC), jbd_big(type), jbd_big(2)};
                if (type % 2) /* freed and used again in one transaction: its freeing does not count */
                    ext2_forget_meta(fs, first + type);
                struct buf *bp = ext2_getblk(fs, first + type);
                memcpy(bp->data, words, 1024);
                bp->flags |= B_VALID;
                CHECK_EQUAL(ext2_meta(fs, bp, false), 0);
            }
            ext2_end(fs);
            CHECK_EQUAL(vfs_fsync(root), 0);
            vrele(root);
            memset(disk + first * 1024, 'y', sizeof was); /* not in place yet */
            write_image();
            if (by) {
                crash_and_mount();
            } else {
                shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s >/dev/null 2>&1; [ $? -le 1 ]", image);
                read_image();
            }
            for (uint32_t type = 0; type < LOOKS; type++)
                CHECK(!memcmp(disk + (first + type) * 1024, was[type], 1024));
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/*
 * A directory with a hash tree is changed, and another file's fsync commits the change, including the tree's removal.
 */
HOST_TEST(an_index_ends_with_the_change_of_its_directory)
{
    for (unsigned what = 0; what < 4; what++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            char name[100];
            struct vnode *root, *open;
            with_a_journal();
            features = "none,filetype,sparse_super,dir_index,has_journal -J size=1";
            begin(2304, "-b 1024 -I 128 -N 256", 80, 20, what);
            CHECK_EQUAL(vfs_make(0, "i0", VDIR, 0755, 0, 0), 0);
            for (unsigned n = 0; n < 60; n++)
                CHECK_EQUAL(make_in_index(0, n), 0);
            CHECK_EQUAL(vfs_make(0, "f", VREG, 0644, 0, 0), 0);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            write_image();
            shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fyD %s >/dev/null 2>&1; [ $? -le 1 ]", image);
            read_image();
            mount_there();
            CHECK_EQUAL(namei(0, "i0", true, &open),
                        0); /* and stays so: the last user of the inode does not write it */
            CHECK(INODE(open)->disk.flags & EXT2_INDEX_FLAG);
            name_in_index(name, 0, what * 3);
            switch (what) {
            case 0: CHECK_EQUAL(vfs_make(0, "i0/new", VREG, 0644, 0, 0), 0); break;
            case 1: CHECK_EQUAL(vfs_remove(0, name, false), 0); break;
            case 2: CHECK_EQUAL(vfs_rename(0, name, "i0/other"), 0); break;
            case 3: CHECK_EQUAL(vfs_rename(0, "f", name), 0); break;
            }
            root = vfs_root();
            CHECK_EQUAL(vfs_fsync(root), 0);
            vrele(root);
            write_image();
            shell(
                "PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s >%s/fsck 2>&1; [ $? -le 1 ] && ! grep -v lost.found %s/fsck "
                "| grep -q '? yes' || { cat %s/fsck; false; }",
                image, folder, folder, folder);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}
