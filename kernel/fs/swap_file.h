/*
 * Page-out to a file: a store of the default pager (vm/swap.h) in the blocks of a file, as in Unix since 4.4BSD's VM.
 * Their places on the device are looked up once; then pages are moved by requests to the device, past the file system,
 * its locks and its buffers. So a thread that holds locks of the file system and waits for memory does not keep memory
 * from becoming free.
 *
 * Until swap_file_off the file can be neither written nor truncated (-ETXTBSY), and its contents are undefined. Its
 * name may be removed.
 */
#ifndef FS_SWAP_FILE_H
#define FS_SWAP_FILE_H

/*
 * -EINVAL: not an ordinary file on a disk, shorter than a page, or with a hole; -EBUSY: mapped, or there is a swap file
 * already; -EROFS; -ENOMEM: no memory for its list of blocks; as namei. Call without any lock.
 */
int swap_file_on(const char *path);
int swap_file_off(void); /* -EBUSY: it holds pages; 0 without one too */
#endif
