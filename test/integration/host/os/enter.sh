#!/bin/sh
# Runs a command in a deployment as if it were the running system: ostree sees a booted host and stages.
# There is no systemd and no kernel; programs are those of this machine. Needs root.
#   enter.sh WORK COMMAND…   WORK has sysroot/, run/, programs/ and the link booted -> deployment
set -eu
if [ "${1:-}" != --inside ]; then
  # With a process namespace, too: ostree compares its mounts with those of process 1.
  exec unshare --mount --pid --fork --kill-child --propagation private "$0" --inside "$@"
fi
work=$2
shift 2
deployment=$(readlink -f "$work/booted")
stateroot=${deployment%/deploy/*}
mount --bind /usr "$deployment/usr"
mount --bind "$work/sysroot" "$deployment/sysroot"
mount --bind "$work/sysroot/boot" "$deployment/boot"
mount --bind "$stateroot/var" "$deployment/var"
mount --bind "$work/run" "$deployment/run"
mount --bind "$work/programs" "$deployment/mnt"
mount --rbind /dev "$deployment/dev"
mount -t proc proc "$deployment/proc"
mount -t tmpfs tmpfs "$deployment/tmp"
# Drivers and repository files name paths of the test.
mkdir -p "$deployment/tmp/${work#/tmp/}"
mount --bind "$work" "$deployment/tmp/${work#/tmp/}"
PATH=/mnt:/usr/sbin:/usr/bin
export PATH
unset INVOCATION_ID
cd /
exec chroot "$deployment" "$@"
