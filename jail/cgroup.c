#include "jail/cgroup.h"

#include <string.h>

void cgroup_enter(struct cgroup *ret, pid_t pid, uint64_t memory_bytes, uint64_t processes, char why[160])
{
	(void)pid; (void)memory_bytes; (void)processes;
	memset(ret, 0, sizeof(*ret));
	strcpy(why, "no");
}
void cgroup_leave(struct cgroup *cg) { (void)cg; }
