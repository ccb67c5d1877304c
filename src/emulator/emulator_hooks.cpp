/* The calls that the compiler's instrumentation makes at each access of a kernel, and the way into the emulator.
 * Compiled once, uninstrumented, and linked to every module of kernels. */
#include "emulator_host.h"

extern "C" {
struct emulator_index emulator_here __attribute__((visibility("hidden")));
struct emulator_host emulator_host __attribute__((visibility("hidden")));
extern const struct emulator_kernel *const emulator_tables[] __attribute__((visibility("hidden")));

__attribute__((visibility("default"))) void emulator_bind(const struct emulator_host *host,
                                                          struct emulator_index **here,
                                                          const struct emulator_kernel *const **tables)
{
	host->copy(&emulator_host, host, sizeof emulator_host);
	*here = &emulator_here;
	*tables = emulator_tables;
}
}

extern "C" {
#define EMULATOR_HOOK(bytes)                                                                                           \
	void __tsan_read##bytes(void *p)                                                                               \
	{                                                                                                              \
		if ((uintptr_t)p - emulator_host.base < emulator_host.span)                                            \
			emulator_host.read(p, bytes, 1);                                                               \
	}                                                                                                              \
	void __tsan_write##bytes(void *p)                                                                              \
	{                                                                                                              \
		if ((uintptr_t)p - emulator_host.base < emulator_host.span)                                            \
			emulator_host.write(p, bytes, 1);                                                              \
	}                                                                                                              \
	void __tsan_unaligned_read##bytes(void *p)                                                                     \
	{                                                                                                              \
		if ((uintptr_t)p - emulator_host.base < emulator_host.span)                                            \
			emulator_host.read(p, bytes, 0);                                                               \
	}                                                                                                              \
	void __tsan_unaligned_write##bytes(void *p)                                                                    \
	{                                                                                                              \
		if ((uintptr_t)p - emulator_host.base < emulator_host.span)                                            \
			emulator_host.write(p, bytes, 0);                                                              \
	}
EMULATOR_HOOK(1)
EMULATOR_HOOK(2)
EMULATOR_HOOK(4)
EMULATOR_HOOK(8)
EMULATOR_HOOK(16)
void __tsan_read_range(void *p, unsigned long n)
{
	if ((uintptr_t)p - emulator_host.base < emulator_host.span)
		emulator_host.read(p, n, 0);
}
void __tsan_write_range(void *p, unsigned long n)
{
	if ((uintptr_t)p - emulator_host.base < emulator_host.span)
		emulator_host.write(p, n, 0);
}
/* Copies of structs that the compiler leaves to the C library. A size that a processor can access at once is taken for one
 * access. Hidden: only this module's own calls come here. */
static void whole(const void *p, unsigned long n, bool writes)
{
	const int once = n == 2 || n == 4 || n == 8 || n == 16;
	if ((uintptr_t)p - emulator_host.base < emulator_host.span) {
		if (writes)
			emulator_host.write((void *)p, n, once);
		else
			emulator_host.read(p, n, once);
	}
}
__attribute__((visibility("hidden"))) void *memcpy(void *to, const void *from, unsigned long n)
{
	whole(from, n, false);
	whole(to, n, true);
	return emulator_host.copy(to, from, n);
}
__attribute__((visibility("hidden"))) void *memmove(void *to, const void *from, unsigned long n)
{
	return memcpy(to, from, n);
}
__attribute__((visibility("hidden"))) void *memset(void *to, int byte, unsigned long n)
{
	whole(to, n, true);
	return emulator_host.fill(to, byte, n);
}
void *__tsan_memcpy(void *to, const void *from, unsigned long n)
{
	return memcpy(to, from, n);
}
void *__tsan_memset(void *to, int byte, unsigned long n)
{
	return memset(to, byte, n);
}
void __tsan_init()
{
}
void __tsan_func_entry(void *)
{
}
void __tsan_func_exit()
{
}
/* What UBSan's descriptions of faults begin with. */
struct source_place {
	const char *file;
	uint32_t line, column;
};
void __ubsan_handle_out_of_bounds(const source_place *at, uintptr_t)
{
	emulator_host.fail("indexes an array of its own out of bounds in %s:%u", at->file, at->line);
}
void __ubsan_handle_divrem_overflow(const source_place *at, uintptr_t, uintptr_t)
{
	emulator_host.fail("divides an integer by zero in %s:%u", at->file, at->line);
}
}
