/* See machine.h. */
#include "base/machine.h"

#include <elf.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

static const struct machine machines[] = { { "aarch64", EM_AARCH64 }, { "x86_64", EM_X86_64 } };
enum { MACHINES = sizeof machines / sizeof *machines };

#if defined __aarch64__
enum { HERE = EM_AARCH64 };
#else
enum { HERE = EM_X86_64 };
#endif

static const char *name_of(int elf)
{
	for (int i = 0; i < MACHINES; i++)
		if (machines[i].elf == elf)
			return machines[i].name;
	return NULL;
}

bool machine_is_arm(const struct machine *m)
{
	return (m ? m->elf : HERE) == EM_AARCH64;
}

int machine_find(const struct machine **out, const char *name, struct arena *a, struct err *e)
{
	struct str known = str_new(a);
	for (int i = 0; i < MACHINES; i++) {
		str_printf(&known, "%s%s", i ? " and " : "", machines[i].name);
		if (strcmp(machines[i].name, name) == 0) {
			*out = &machines[i];
			return 0;
		}
	}
	err_set(e, ERR_USAGE, "tpat builds no libraries for the processor \"%s\".", name);
	if (strcmp(name, "arm64") == 0 || strcmp(name, "jetson") == 0)
		return err_advise(e, "Did you mean aarch64?");
	return err_advise(e, "It knows %s.", str_text(&known));
}

int machine_check(const char *library, struct err *e)
{
	struct file_map m;
	Elf64_Ehdr head = { 0 };
	TRY(file_map_open(&m, library, e));
	if (m.size >= sizeof head)
		memcpy(&head, m.data, sizeof head);
	file_map_close(&m);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
		err_set(e, ERR_MODEL, "%s is not a library.", library);
		return err_advise(e, "Give a shared library, such as the libtpat_NAME.so that tpat build wrote.");
	}
	if (head.e_machine == HERE)
		return 0; /* dlopen() says what else may be wrong */
	const char *its = name_of(head.e_machine);
	err_set(e, ERR_MODEL, "%s is a library for another processor%s%s, and cannot be opened on this machine.",
	        library, its ? ", " : "", its ? its : "");
	return err_advise(e, "It runs on such machines only. To use it here, build it again without --host.");
}
