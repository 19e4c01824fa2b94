/* Sleeping threads of processes (futex.h). */
#include "user/futex.h"

#include <errno.h>

#define NO_WORD 1u /* of one that waits for time alone: no address of a word */

static struct user_thread *first, **end = &first;

static void timed_out(void *arg)
{
    struct user_thread *t = arg;
    crit_t s = simple_lock_enter(&user_lock);
    t->timed_out = true;
    thread_wakeup(t);
    simple_lock_leave(&user_lock, s);
}

static void append(struct user_thread *t)
{
    t->next = 0;
    *end = t;
    end = &t->next;
}

static void take_out(struct user_thread *t)
{
    struct user_thread **at = &first;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at)
        return; /* who woke it took it out */
    *at = t->next;
    if (end == &t->next)
        end = at;
}

/* Sleep until woken or the end of `ticks`. Called and returns with user_lock held. */
static int wait(struct user_thread *self, uint32_t word, uint32_t ticks)
{
    self->word = word;
    self->woken = self->timed_out = false;
    append(self);
    if (ticks)
        timeout_set(&self->limit, ticks, timed_out, self);
    while (!self->woken && !self->timed_out && !self->process->ending)
        thread_sleep(self, &user_lock);
    take_out(self);
    return self->woken ? 0 : self->timed_out ? -ETIMEDOUT : -EINTR;
}

/* The timeout is a member of the thread, so it must be over before the thread goes on. */
static void end_limit(struct user_thread *self, uint32_t ticks)
{
    if (!ticks)
        return;
    timeout_cancel(&self->limit);
    timeout_drain(&self->limit);
}

int futex_wait(uint32_t word, uint32_t value, uint32_t ticks)
{
    if (word % sizeof(uint32_t))
        return -EINVAL;
    struct user_thread *self = user_self();
    uint32_t now;
    crit_t s = simple_lock_enter(&user_lock);
    int error = space_copy_in(&self->process->space, &now, word, sizeof now);
    if (!error)
        error = now == value ? wait(self, word, ticks) : -EAGAIN;
    simple_lock_leave(&user_lock, s);
    end_limit(self, ticks);
    return error;
}

int futex_wake(uint32_t word, uint32_t most)
{
    if (word % sizeof(uint32_t))
        return -EINVAL;
    struct process *p = user_self()->process;
    uint32_t n = 0;
    crit_t s = simple_lock_enter(&user_lock);
    for (struct user_thread *t = first, *next; t && n < most; t = next) {
        next = t->next;
        if (t->process != p || t->word != word)
            continue;
        take_out(t);
        t->woken = true;
        thread_wakeup(t);
        n++;
    }
    simple_lock_leave(&user_lock, s);
    return (int)n;
}

int user_sleep(uint32_t ticks)
{
    struct user_thread *self = user_self();
    crit_t s = simple_lock_enter(&user_lock);
    int error = wait(self, NO_WORD, ticks);
    simple_lock_leave(&user_lock, s);
    end_limit(self, ticks);
    return error == -ETIMEDOUT ? 0 : error;
}
