/* SPDX-License-Identifier: Apache-2.0 */
/* rt_os.h: what the runtime needs of the operating system: shared libraries, locks, aligned memory. By POSIX's names,
 * which are made here of Windows' own functions there. */
#ifndef TPAT_RT_OS_H
#define TPAT_RT_OS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#include <malloc.h>

#define RT_CUDA_DRIVER "nvcuda.dll"

enum { RTLD_NOW = 0 };
static inline void *dlopen(const char *path, int how)
{
	(void)how;
	return LoadLibraryA(path);
}
static inline void *dlsym(void *library, const char *name)
{
	return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

typedef SRWLOCK pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER SRWLOCK_INIT
static inline int pthread_mutex_init(pthread_mutex_t *m, const void *attributes)
{
	(void)attributes;
	InitializeSRWLock(m);
	return 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t *m)
{
	(void)m; /* it owns nothing */
	return 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *m)
{
	AcquireSRWLockExclusive(m);
	return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *m)
{
	ReleaseSRWLockExclusive(m);
	return 0;
}

static inline void *rt_aligned_alloc(size_t align, size_t bytes)
{
	return _aligned_malloc(bytes, align);
}
static inline void rt_aligned_free(void *p)
{
	_aligned_free(p);
}

#else

#include <dlfcn.h>
#include <pthread.h>

#define RT_CUDA_DRIVER "libcuda.so.1"

static inline void *rt_aligned_alloc(size_t align, size_t bytes)
{
	void *p = NULL;
	return posix_memalign(&p, align, bytes) ? NULL : p;
}
static inline void rt_aligned_free(void *p)
{
	free(p);
}

#endif
#endif
