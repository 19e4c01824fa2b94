/* Joins the processes of one run by MPI: a shared library for --ranks-library, built by `interlock sim --mpi`. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "ranks_library.h"

static int processes;
static char *bytes;
static size_t room;

int ranks_begin(unsigned *self, unsigned *count)
{
    int rank;
    if (MPI_Init(NULL, NULL) || MPI_Comm_rank(MPI_COMM_WORLD, &rank) || MPI_Comm_size(MPI_COMM_WORLD, &processes))
        return 1;
    *self = (unsigned)rank;
    *count = (unsigned)processes;
    return 0;
}

const char *ranks_exchange(const char *mine, uint64_t size, uint64_t *sizes)
{
    if (MPI_Allgather(&size, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, MPI_COMM_WORLD))
        return NULL;
    uint64_t all = 0;
    int *each = malloc(2 * (size_t)processes * sizeof *each), *from = each ? each + processes : NULL;
    for (int i = 0; each && i < processes; i++) {
        each[i] = (int)sizes[i];
        from[i] = (int)all;
        all += sizes[i];
    }
    if (all > room) {
        free(bytes);
        bytes = malloc(all);
        room = bytes ? all : 0;
    }
    int failed = !each || all > INT_MAX || (all && !bytes) ||
                 MPI_Allgatherv(mine, (int)size, MPI_BYTE, bytes, each, from, MPI_BYTE, MPI_COMM_WORLD);
    free(each);
    return failed ? NULL : bytes ? bytes : "";
}

void ranks_end(int failed)
{
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
}
