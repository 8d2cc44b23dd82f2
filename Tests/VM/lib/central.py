"""The hub's side of a scenario: starts the peripheral on hci1, finds it from hci0 and connects."""

import subprocess
import sys
import tempfile
from pathlib import Path

import dbus

import bluez
import peripheral
from pulse import Pulse
from scenario import Call, expect, wait_until


class Central:
    """hci0 of a machine in which the peripheral advertises on hci1."""

    service = peripheral.SERVICE

    def __init__(self):
        self.bus = dbus.SystemBus()
        self.directory = Path(tempfile.mkdtemp())
        self.adapter = wait_until("hci0 is on", lambda: bluez.adapter(self.bus, "hci0"))
        self.address = str(bluez.properties(self.bus, self.adapter, "org.bluez.Adapter1")["Address"])
        self.process = self.start()
        wait_until("the peripheral advertises, or ended", lambda: self.is_ready() or self.process.poll() is not None)
        expect("the peripheral runs", self.process.poll() is None)

    def start(self):
        return subprocess.Popen([sys.executable, peripheral.__file__, "hci1", self.directory])

    def is_ready(self):
        return (self.directory / "ready").exists()

    def find(self):
        """Discovers the peripheral by its service and returns its path; discovery is off again when it returns."""
        adapter = bluez.interface(self.bus, self.adapter, "org.bluez.Adapter1")
        uuids = dbus.Array([self.service], signature="s")
        adapter.SetDiscoveryFilter(dbus.Dictionary({"Transport": "le", "UUIDs": uuids}, signature="sv"))
        adapter.StartDiscovery()
        pulse = Pulse(self.bus, "hci1")
        pulse.start()
        device = wait_until(
            "the peripheral is discovered",
            lambda: bluez.device_with_service(self.bus, self.adapter, self.service))
        adapter.StopDiscovery()
        pulse.stop()
        self.device = device
        return device

    def connect(self):
        """Connects and returns the peripheral's address."""
        device = bluez.interface(self.bus, self.device, "org.bluez.Device1")
        Call(device.Connect).finish("Connect")
        expect("the device is connected", self.properties()["Connected"])
        return str(self.properties()["Address"])

    def properties(self):
        return bluez.properties(self.bus, self.device, "org.bluez.Device1")
