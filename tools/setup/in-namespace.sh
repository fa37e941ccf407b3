#!/bin/sh
# Runs a command with its own network, mounts and processes: end-to-end hosts need no address on the
# machine's interfaces, and end with this script, however it ends.
#   tools/setup/in-namespace.sh COMMAND…
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${SLIPWAY_HOSTS_INSIDE:-}" != yes ]; then
  # Removes disks of killed runs, whose lock is free. A run that is just starting has a directory and no
  # lock yet.
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

# Disks of machines are in memory when there is enough: faster, and removed with the namespace.
if [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt 8000000 ]; then
  mount -t tmpfs -o mode=700 tmpfs "$SLIPWAY_HOSTS_DIRECTORY"
fi
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
# Registries of the suite use plain HTTP; the machine's own settings stay unchanged.
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
# A second wait, because a signal ends the first one before the child ends.
if kill -0 $child 2>/dev/null; then wait $child || status=$?; fi
# Ends what the command left running; this script is process 1 of its namespace.
kill -KILL -1 2>/dev/null || true
wait
chattr -R -f -i "$SLIPWAY_HOSTS_DIRECTORY" 2>/dev/null || true
umount /etc/containers || true
umount "$SLIPWAY_HOSTS_DIRECTORY" 2>/dev/null || true
rm -rf "$SLIPWAY_HOSTS_DIRECTORY"
find /sys/fs/cgroup -depth -type d -path "*/$(basename "$SLIPWAY_HOSTS_DIRECTORY")-*" \
  -exec rmdir {} + 2>/dev/null || true
exit $status
