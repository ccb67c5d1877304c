/* The switch from one stack to another: saves the registers that a function must keep, changes stacks, restores. */
#ifndef TPAT_EMULATOR_EMULATOR_SWITCH_H
#define TPAT_EMULATOR_EMULATOR_SWITCH_H

#include <stdint.h>
#include <string.h>

/* Saves the current stack pointer to *save and switches to the stack pointer `load`. */
void emulator_switch(void **save, void *load);

#if defined __x86_64__
__asm__(".text\n.globl emulator_switch\n.hidden emulator_switch\n.type emulator_switch, @function\nemulator_switch:\n"
        "\tpushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
        "\tmovq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n"
        "\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret\n"
        ".size emulator_switch, .-emulator_switch\n");
enum { SWITCH_RETURN = 6, SWITCH_SLOTS = 8 }; /* words: index of the return address; total, 16-byte aligned */
#elif defined __aarch64__
__asm__(".text\n.globl emulator_switch\n.hidden emulator_switch\n.type emulator_switch, %function\nemulator_switch:\n"
        "\tsub sp, sp, #160\n"
        "\tstp x19, x20, [sp, #0]\n\tstp x21, x22, [sp, #16]\n\tstp x23, x24, [sp, #32]\n\tstp x25, x26, [sp, #48]\n"
        "\tstp x27, x28, [sp, #64]\n\tstp x29, x30, [sp, #80]\n"
        "\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\tstp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n"
        "\tmov x9, sp\n\tstr x9, [x0]\n\tmov sp, x1\n"
        "\tldp x19, x20, [sp, #0]\n\tldp x21, x22, [sp, #16]\n\tldp x23, x24, [sp, #32]\n\tldp x25, x26, [sp, #48]\n"
        "\tldp x27, x28, [sp, #64]\n\tldp x29, x30, [sp, #80]\n"
        "\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\tldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n"
        "\tadd sp, sp, #160\n\tret\n"
        ".size emulator_switch, .-emulator_switch\n");
enum { SWITCH_RETURN = 11, SWITCH_SLOTS = 20 };
#else
#error "the emulator's fibres know x86-64 and AArch64"
#endif

/* Prepares a stack that ends at `high` and starts in `entry` on the first switch; entry never returns. */
static inline void *emulator_stack_new(char *high, void (*entry)(void))
{
	void **sp = (void **)((uintptr_t)high & ~(uintptr_t)15) - SWITCH_SLOTS;
	memset(sp, 0, SWITCH_SLOTS * sizeof *sp);
	memcpy(&sp[SWITCH_RETURN], &entry, sizeof entry);
	return sp;
}

#endif
