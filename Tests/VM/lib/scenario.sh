# What a scenario written in shell says: . "$VM_LIB/scenario.sh"
#
# note TEXT                            a line in the log
# expect WHAT COMMAND...               fails the scenario unless the command succeeds
# expect_equal WHAT EXPECTED ACTUAL    fails the scenario unless both are the same text
# wait_until SECONDS WHAT COMMAND...   tries the command until it succeeds; past the deadline the scenario fails
# background NAME COMMAND...           starts it with its output in the log; ends with the scenario
# advertise_repeatedly ADAPTER         what advertises there is heard again and again, as on the air (lib/pulse.py)
# power_cut                            the machine is dead from here on; the scenario starts again with BOOT + 1
# mount_disk DIR [OPTION...]           mounts the scenario's disk, with a file system made in its first boot
# install_celestiad                    the service, as the package installs it
set -euo pipefail
. /vm/project/scripts/vm/guest/install-celestiad

note() { printf '%s %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }

fail() {
    note "not so: $1"
    exit 1
}

expect() {
    local what=$1
    shift
    "$@" || fail "$what ($*)" || return
    note "$what"
}

expect_equal() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'" || return
    note "$1"
}

wait_until() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "$what ($*)" || return
        sleep 0.2
    done
    note "$what"
}

background() {
    local name=$1
    shift
    "$@" > >(sed -u "s/^/[$name] /") 2>&1 &
}

advertise_repeatedly() { background pulse /usr/bin/python3 "$VM_LIB/pulse.py" "$1"; }

power_cut() {
    note "power cut"
    # The host kills QEMU when it sees the mark. Until then the machine runs on, as one does that does not know.
    touch "/vm/share/$SCENARIO/power-cut"
    sleep infinity
}

mount_disk() {
    if [ "$BOOT" = 1 ]; then
        mkfs.ext4 -q /dev/vda
        sync
    fi
    local directory=$1
    shift
    mkdir -p "$directory"
    mount "$@" /dev/vda "$directory"
}
