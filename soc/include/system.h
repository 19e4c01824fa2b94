/* generated/csr.h includes this header of LiteX's software tree; the accessors of hw/common.h need nothing from it. */
