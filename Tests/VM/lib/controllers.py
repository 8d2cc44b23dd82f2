"""Virtual controllers that a scenario makes itself: as many as it likes, which it can unplug."""

import os
import subprocess
import sys

import dbus

import bluez
import bridge
from scenario import fail, note, wait_until


class Controllers:
    """Controllers hci0, hci1 and so on that hear each other, in the place of those that were there. They last as long as
    the scenario."""

    def __init__(self, count):
        subprocess.run(["systemctl", "stop", "btvirt.service"], check=True)
        bus = dbus.SystemBus()
        for _ in range(5):
            self.start(count)
            ready = lambda: all(bluez.adapter(bus, f"hci{number}") for number in range(count))
            if wait_until(f"{count} controllers are on", ready, 30, required=False):
                return
            # One whose setup timed out does not recover.
            for process in (self.bridge, self.emulator):
                process.kill()
                process.wait()
            note("once more")
        fail(f"{count} controllers do not come up")

    def start(self, count):
        nice = ["nice", "-n", "-15"]
        self.emulator = subprocess.Popen(nice + ["btvirt", "-s"])
        wait_until("btvirt serves", lambda: os.path.exists(bridge.SERVER))
        self.bridge = subprocess.Popen(
            nice + [sys.executable, bridge.__file__, str(count)], stdin=subprocess.PIPE, text=True)

    def unplug(self, number):
        self.bridge.stdin.write(f"unplug {number}\n")
        self.bridge.stdin.flush()

    def plug(self, number):
        """It takes the first name that is free."""
        self.bridge.stdin.write(f"plug {number}\n")
        self.bridge.stdin.flush()


def occupy():
    """Takes the first name that is free, such as hci0, for as long as the file that it returns is open: a controller
    that answers nothing, which bluetoothd does not get to see."""
    file = open("/dev/vhci", "r+b", buffering=0)
    file.write(bytes([0xFF, 0x00]))
    return file
