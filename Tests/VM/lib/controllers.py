"""Virtual controllers that a scenario makes itself."""

import subprocess

import dbus

import bluez
from scenario import fail, note, wait_until


def start(count):
    """Makes so many controllers that hear each other, in the place of those that were there. They last as long as the
    scenario."""
    subprocess.run(["systemctl", "stop", "btvirt.service"], check=True)
    bus = dbus.SystemBus()
    for _ in range(5):
        process = subprocess.Popen(["nice", "-n", "-15", "btvirt", f"-l{count}", "-L"])
        ready = lambda: all(bluez.adapter(bus, f"hci{number}") for number in range(count))
        if wait_until(f"{count} controllers are on", ready, 30, required=False):
            return
        # One whose setup timed out does not recover.
        process.kill()
        process.wait()
        note("once more")
    fail(f"{count} controllers do not come up")


def occupy():
    """Takes the first name that is free, such as hci0, for as long as the file that it returns is open: a controller
    that answers nothing, which bluetoothd does not get to see."""
    file = open("/dev/vhci", "r+b", buffering=0)
    file.write(bytes([0xFF, 0x00]))
    return file
