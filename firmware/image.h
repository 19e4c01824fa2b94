/* The header that every image carries at its load address (README.md). */
#ifndef IMAGE_H
#define IMAGE_H

#define IMAGE_BASE 0x40000000
#define IMAGE_MAGIC_OFFSET 4
#define IMAGE_MAGIC 0x314b4c49 /* "ILK1" */
#endif
