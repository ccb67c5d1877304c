/* A shared library in memory that has a given name and some functions of this program, for the loader alone: libraries
 * that need one of this name are satisfied. It has no code of its own; its symbols are absolute addresses. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/tensorrt/host_inside.h"

enum { MOST = 16, TEXT = 1024 };

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr part[3];
	Elf64_Dyn dynamic[7];
	Elf64_Sym symbol[MOST + 1];
	uint32_t hash[4 + MOST]; /* one bucket */
	char text[TEXT];
};

static uint32_t add_text(struct image *m, size_t *used, const char *text)
{
	size_t at = *used, n = strlen(text) + 1;
	if (at + n > TEXT)
		return 0;
	memcpy(m->text + at, text, n);
	*used += n;
	return (uint32_t)at;
}

static void fill(struct image *m, const char *name, const struct host_function *f, int n)
{
	const Elf64_Addr text = offsetof(struct image, text), symbol = offsetof(struct image, symbol);
	const size_t dynamic = offsetof(struct image, dynamic);
	size_t used = 1;
	m->head = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		                .e_type = ET_DYN,
#ifdef __aarch64__
		                .e_machine = EM_AARCH64,
#else
		                .e_machine = EM_X86_64,
#endif
		                .e_version = EV_CURRENT,
		                .e_phoff = offsetof(struct image, part),
		                .e_ehsize = sizeof m->head,
		                .e_phentsize = sizeof *m->part,
		                .e_phnum = 3 };
	m->part[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		                   .p_flags = PF_R | PF_W,
		                   .p_filesz = sizeof *m,
		                   .p_memsz = sizeof *m,
		                   .p_align = 0x10000 };
	m->part[1] = (Elf64_Phdr){ PT_DYNAMIC, PF_R | PF_W,       dynamic,           dynamic,
		                   dynamic,    sizeof m->dynamic, sizeof m->dynamic, 8 };
	m->part[2] = (Elf64_Phdr){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
	m->hash[0] = 1;
	m->hash[1] = (uint32_t)n + 1;
	m->hash[2] = 1;
	for (int i = 0; i < n; i++) {
		m->symbol[i + 1] = (Elf64_Sym){ .st_name = add_text(m, &used, f[i].name),
			                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			                        .st_shndx = SHN_ABS,
			                        .st_value = (Elf64_Addr)(uintptr_t)f[i].address };
		m->hash[3 + i + 1] = i + 1 < n ? (uint32_t)i + 2 : 0;
	}
	const Elf64_Dyn all[] = { { DT_SONAME, { add_text(m, &used, name) } },
		                  { DT_HASH, { offsetof(struct image, hash) } },
		                  { DT_STRTAB, { text } },
		                  { DT_SYMTAB, { symbol } },
		                  { DT_STRSZ, { TEXT } },
		                  { DT_SYMENT, { sizeof *m->symbol } },
		                  { DT_NULL, { 0 } } };
	memcpy(m->dynamic, all, sizeof all);
}

bool host_image_open(const char *name, const struct host_function *f, int n)
{
	struct image m = { .head = { .e_type = 0 } };
	char path[64];
	int file = memfd_create(name, 0);
	if (file < 0 || n > MOST)
		return false;
	fill(&m, name, f, n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	return write(file, &m, sizeof m) == (ssize_t)sizeof m && dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}
