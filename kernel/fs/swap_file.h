/*
 * Page-out to a file: a store of the default pager (vm/swap.h) in the blocks of a file, as Unix has it since 4.4BSD's
 * VM. Where these are on the device is looked up once; from then on pages go there and come back by requests to the
 * device, past the file system, its locks and its buffers. So whoever is in the file system and waits for memory does
 * not keep it from becoming free.
 *
 * Until swap_file_off the file can be neither written nor cut (-ETXTBSY); what a read of it gives, means nothing. Its
 * name may go.
 */
#ifndef FS_SWAP_FILE_H
#define FS_SWAP_FILE_H

/*
 * -EINVAL: not an ordinary file on a disk, shorter than a page, or one with a hole; -EBUSY: mapped, or there is one
 * already; -EROFS; -ENOMEM: no memory for its list of blocks; as namei. With the lock of nothing.
 */
int swap_file_on(const char *path);
int swap_file_off(void); /* -EBUSY: pages are there; 0 without one too */
#endif
