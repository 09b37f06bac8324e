#!/bin/sh
# Runs the tests, each in a group of its own that is delegated to it.
export PATH=/usr/local/bin:/usr/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
ifconfig lo up
echo "+memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
cd /tmp

one() { # USER NAME COMMAND...
  id=$1 name=$2
  shift 2
  group=/sys/fs/cgroup/$name
  mkdir $group
  chown $id:$id $group $group/cgroup.procs $group/cgroup.subtree_control
  echo "KERNEL $name begins"
  perl -e '
    my ($id, $procs) = splice @ARGV, 0, 2;
    open F, ">", $procs or die $!; syswrite F, $$ or die $!; close F;
    if ($id) { $( = $id; $) = "$id $id"; ($<, $>) = ($id, $id) }
    exec @ARGV or die $!' $id $group/cgroup.procs "$@"
  echo "KERNEL $name ended $?"
}

few='CommandsRun|LimitsHold|ControlGroups|GoFirst|NothingSurvives'
one 0 groups-of-root cgroup.test -test.v
one 0 sandbox-of-root sandbox.test -test.v -test.run "$few"
one 1000 groups-of-a-user cgroup.test -test.v
one 1000 sandbox-of-a-user sandbox.test -test.v -test.run "$few"
echo "KERNEL done"
poweroff -f
