#!/bin/sh
# Runs a command as if on a machine of its own: private network, mounts and processes, so that end-to-end
# hosts need no address on the machine's interfaces and end with this script, however it ends.
#   tools/setup/in-namespace.sh COMMAND…
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${SLIPWAY_HOSTS_INSIDE:-}" != yes ]; then
  # Of runs that were killed: their lock is free, their disks have files that only root's will removes.
  # One that begins at this moment has its directory before its lock.
  find /tmp -maxdepth 1 -type d -name 'slipway-hosts-*' -mmin +1 | while read -r left; do
    flock --nonblock "$left/lock" true 2>/dev/null || continue
    chattr -R -f -i "$left" 2>/dev/null || true
    rm -rf "$left"
  done
  find /sys/fs/cgroup -type d -name 'slipway-hosts-*' | while read -r group; do
    run=$(basename "$group" | cut -d- -f1-3)
    [ -d "/tmp/$run" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
  SLIPWAY_HOSTS_DIRECTORY=$(mktemp -d /tmp/slipway-hosts-XXXXXX)
  export SLIPWAY_HOSTS_DIRECTORY SLIPWAY_HOSTS_INSIDE=yes
  : >"$SLIPWAY_HOSTS_DIRECTORY/lock"
  exec unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc \
    flock --no-fork "$SLIPWAY_HOSTS_DIRECTORY/lock" "$0" "$@"
fi

# Disks of machines in memory where there is plenty: it is faster, and it is gone with the namespace.
if [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt 8000000 ]; then
  mount -t tmpfs -o mode=700 tmpfs "$SLIPWAY_HOSTS_DIRECTORY"
fi
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
# Registries of the suite speak plain HTTP; the machine's own settings stay as they are.
settings=$SLIPWAY_HOSTS_DIRECTORY/containers
cp -a /etc/containers "$settings"
mkdir -p "$settings/registries.conf.d"
cp "$here"/test/hosts/image/common/etc/containers/registries.conf.d/* "$settings/registries.conf.d/"
mount --bind "$settings" /etc/containers
ip link set lo up
SLIPWAY_HOSTS_NAMESPACE=$(readlink /proc/self/ns/net)
export SLIPWAY_HOSTS_NAMESPACE

"$@" &
child=$!
trap 'kill -TERM $child 2>/dev/null' INT TERM HUP
status=0
wait $child || status=$?
# A second wait: the first one ends with the signal, not with the child.
if kill -0 $child 2>/dev/null; then wait $child || status=$?; fi
# Whatever the command left running; this is the first process of its own little world.
kill -KILL -1 2>/dev/null || true
wait
chattr -R -f -i "$SLIPWAY_HOSTS_DIRECTORY" 2>/dev/null || true
umount /etc/containers || true
umount "$SLIPWAY_HOSTS_DIRECTORY" 2>/dev/null || true
rm -rf "$SLIPWAY_HOSTS_DIRECTORY"
find /sys/fs/cgroup -depth -type d -path "*/$(basename "$SLIPWAY_HOSTS_DIRECTORY")-*" \
  -exec rmdir {} + 2>/dev/null || true
exit $status
