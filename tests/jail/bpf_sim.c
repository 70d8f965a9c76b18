#include "tests/jail/bpf_sim.h"

#include <string.h>

bool bpf_sim_check(const struct sock_filter *program, size_t n)
{
	if (n == 0 || n > BPF_MAXINSNS || BPF_CLASS(program[n - 1].code) != BPF_RET)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct sock_filter *in = &program[i];
		size_t left = n - i - 1;

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k % 4 || in->k >= sizeof(struct seccomp_data))
				return false;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
		case BPF_RET | BPF_K:
			break;
		case BPF_JMP | BPF_JA:
			if (in->k >= left)
				return false;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			if (in->jt >= left || in->jf >= left)
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

uint32_t bpf_sim_run(const struct sock_filter *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0;; pc++) {
		const struct sock_filter *in = &program[pc];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + in->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_RET | BPF_K:
			return in->k;
		case BPF_JMP | BPF_JA:
			pc += in->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & in->k ? in->jt : in->jf;
			break;
		}
	}
}
