/* A disk that is slow, for one process: loaded before the C library (LD_PRELOAD), it lets every write and sync of a file
   below the folder SLOW_DISK wait. For how many milliseconds is read from the file SLOW_DISK_MS each time; without the file
   for none. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

static void wait_for(int file) {
    const char *folder = getenv("SLOW_DISK"), *control = getenv("SLOW_DISK_MS");
    char link[32], path[PATH_MAX], text[16];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (folder && control && length > 0 && !strncmp(path, folder, strlen(folder))) {
        int opened = open(control, O_RDONLY | O_CLOEXEC);
        ssize_t got = opened < 0 ? 0 : read(opened, text, sizeof text - 1);
        if (opened >= 0) close(opened);
        text[got > 0 ? got : 0] = 0;
        long ms = atol(text);
        struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
        while (ms > 0 && nanosleep(&time, &time)) {}
    }
    errno = before;
}

#define SLOW(result, name, parameters, ...)                               \
    result name parameters {                                              \
        static result (*real) parameters;                                 \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);             \
        wait_for(file);                                                   \
        return real(__VA_ARGS__);                                         \
    }

SLOW(ssize_t, write, (int file, const void *bytes, size_t count), file, bytes, count)
SLOW(ssize_t, writev, (int file, const struct iovec *parts, int count), file, parts, count)
SLOW(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
SLOW(int, fsync, (int file), file)
SLOW(int, fdatasync, (int file), file)
