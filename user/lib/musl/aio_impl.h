/* Nothing: musl.h says what is instead. */
