/* Replaces sync/pic.h on the host, which has no interrupt controller. */
#ifndef SYNC_PIC_H
#define SYNC_PIC_H

static inline void pic_eoi(unsigned source)
{
    (void)source;
}
#endif
