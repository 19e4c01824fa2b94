/* Unnamed POSIX semaphores, on futexes: for the threads of a process, or processes that share the memory. */
#ifndef _SEMAPHORE_H
#define _SEMAPHORE_H

#include <stdint.h>
#include <time.h>

typedef struct {
    volatile uint32_t value;
    volatile uint32_t waiting;
} sem_t;

#define SEM_VALUE_MAX 0x7fffffff

/* 0, or -1 with errno. */
int sem_init(sem_t *sem, int shared, unsigned value);
int sem_destroy(sem_t *sem);
int sem_wait(sem_t *sem);
int sem_trywait(sem_t *sem);
int sem_timedwait(sem_t *sem, const struct timespec *until); /* of CLOCK_REALTIME */
int sem_post(sem_t *sem);
int sem_getvalue(sem_t *sem, int *value);
#endif
