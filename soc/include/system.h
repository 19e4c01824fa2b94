/* generated/csr.h asks for this header of LiteX's software tree; the accessors of hw/common.h need nothing from it. */
