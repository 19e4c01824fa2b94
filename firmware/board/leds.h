/*
 * The board's LEDs. LED 0 shows the state: off while tests run; on when all that could run have passed; when test n
 * (selftest.c counts them from 1) has failed, it blinks n times and pauses, again and again. LEDs 1 up, where the board
 * has them, show in binary the number of the test that runs or has failed.
 */
#ifndef LEDS_H
#define LEDS_H

#define LEDS_TRAP 15 /* instead of a test's number: a hart trapped in the ROM */

/* Test `number`, from 1, is running. */
void leds_running(unsigned number);

/* The tests have ended; `failed` is the number of the first one that failed, or 0. */
void leds_result(unsigned failed);

/* Makes LED 0 blink: to be called often while the ROM waits for something. */
void leds_tick(void);
#endif
