# A laboratory on one machine: a private message bus with the simulated BlueZ and recorder, the simulated cloud, and the
# unmodified daemon. Sourced by ./demo and ./bench. Everything listens on this machine only and ends with the script:
# each process holds the read end of a pipe, or dies with its parent.
#
# lab_begin DIR        makes the folder and the tether
# lab_bus              starts the bus; sets BUS
# lab_cloud ARG...     starts the cloud; sets API (the base URL) and SIM (its control plane)
# lab_recorder ARG...  starts the simulated BlueZ with recorders
# lab_daemon ARG...    starts `celestiad run`; sets DAEMON (its pid)
# celestiad ARG...     the command line, pointed at this laboratory

lab_begin() {
    LAB=$1
    BIN=$2
    mkdir -p -m 700 "$LAB"
    mkfifo "$LAB/tether"
    exec 9<>"$LAB/tether"
    # celestiad refuses variables of its own that it does not know, such as those of the scripts.
    # shellcheck disable=SC2046
    unset $(compgen -e CELESTIAD_)
    export CELESTIAD_BUS= CELESTIAD_STATE_DIRECTORY="$LAB/state" CELESTIAD_CONFIG="$LAB/celestiad.conf"
    : >"$LAB/celestiad.conf"
    trap lab_end EXIT
    trap 'exit 130' INT TERM
}

lab_end() {
    local status=$?
    trap - EXIT
    exec 9>&-
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    [ "${LAB_KEEP_FILES:-no}" = yes ] || rm -rf "$LAB"
    exit $status
}

lab_bus() {
    BUS=unix:path=$LAB/bus
    cat >"$LAB/bus.conf" <<END
<busconfig>
  <type>system</type>
  <listen>$BUS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
  </policy>
</busconfig>
END
    setpriv --pdeathsig TERM dbus-daemon --nofork --print-address --config-file="$LAB/bus.conf" \
        >"$LAB/bus.log" 2>&1 </dev/null 9>&- &
    lab_wait_for "the message bus" "$LAB/bus.log" '^unix:'
    export CELESTIAD_BUS=$BUS
}

lab_cloud() {
    lab_tethered cloud simulators/cloud/celestia-cloud --exit-with-stdin --data "$LAB/cloud" "$@"
    lab_wait_for "the simulated cloud" "$LAB/cloud.log" '^ready '
    API=$(sed -n 's/^ready //p' "$LAB/cloud.log")
    SIM=${API%/celestia-trace/v1}/_sim
    export CELESTIAD_CLOUD_URL=$API
}

lab_recorder() {
    lab_tethered recorder "$BIN/celestia-recorder" --exit-with-stdin --bus "$BUS" "$@"
    lab_wait_for "the simulated recorder" "$LAB/recorder.log" '^ready '
}

lab_daemon() {
    setpriv --pdeathsig TERM "$BIN/celestiad" run "$@" >"$LAB/daemon.log" 2>&1 </dev/null 9>&- &
    DAEMON=$!
    lab_wait_for "celestiad" "$LAB/daemon.log" 'ready'
}

celestiad() {
    "$BIN/celestiad" "$@" 9>&-
}

# lab_tethered NAME COMMAND...: runs it with the tether as standard input, its output in NAME.log.
lab_tethered() {
    local name=$1
    shift
    "$@" <"$LAB/tether" >"$LAB/$name.log" 2>&1 9>&- &
}

lab_wait_for() {
    local what=$1 file=$2 pattern=$3
    for _ in $(seq 300); do
        grep -q -E "$pattern" "$file" 2>/dev/null && return
        sleep 0.1
    done
    echo "$what did not start:" >&2
    cat "$file" >&2
    exit 1
}
