#include "jail/layers.h"

#include <string.h>

static const struct jail_layer_info layers[JAIL_LAYERS] = {
	[JAIL_USERNS] = { "userns", "user namespaces",
			  "allow them: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
			  "kernel.apparmor_restrict_unprivileged_userns=0",
			  false },
	[JAIL_IDMAP] = { "idmap", "id-mapped mounts",
			 "put the folder on ext4, xfs, btrfs or tmpfs, or run warder as an ordinary user", false },
	[JAIL_MOUNTS] = { "mounts", "mount namespace",
			  "needs Linux 5.12 and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns=0", false },
	[JAIL_PROC] = { "proc", "own /proc",
			"inside a container, let it mount /proc (podman, docker: --security-opt "
			"systempaths=unconfined)",
			false },
	[JAIL_OVERLAY] = { "overlay", "staged workspace",
			   "needs overlayfs in user namespaces (Linux 5.11) and a layer folder on a local file system "
			   "with "
			   "user xattrs",
			   false },
	[JAIL_NETWORK] = { "network", "network namespace", "needs a kernel with CONFIG_NET_NS", false },
	[JAIL_KEYRING] = { "keyring", "session keyring", "needs a kernel with CONFIG_KEYS", false },
	[JAIL_CAPS] = { "caps", "capabilities", "needs Linux 4.3", false },
	[JAIL_LANDLOCK] = { "landlock", "Landlock", "needs Linux 6.12 with landlock in the boot option lsm=", false },
	[JAIL_SECCOMP] = { "seccomp", "seccomp filter", "needs a kernel with CONFIG_SECCOMP_FILTER", false },
	[JAIL_LIMITS] = { "limits", "resource limits",
			  "memory is bounded only where warder may make control groups (as root)", false },
	[JAIL_BASELINE] = { "baseline", "first commit of the cell's repository", "install git", true },
};

const struct jail_layer_info *jail_layer_info(enum jail_layer layer)
{
	return &layers[layer];
}

enum jail_layer jail_layer_find(const char *name)
{
	for (int i = 0; i < JAIL_LAYERS; i++)
		if (strcmp(layers[i].name, name) == 0)
			return i;
	return JAIL_NO_LAYER;
}
