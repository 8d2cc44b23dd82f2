"""Makes the advertisements of a virtual controller heard again and again.

A real radio repeats an advertisement several times a second. btvirt reports it once, at the moment that advertising or
scanning is enabled, and the kernel drops a report that comes before it has noted that its scan began: a discovery then
hears nothing at all. With a second advertisement the kernel takes turns, every two seconds, and each turn is a report.

Run as a program: `pulse.py hci1`, until it is killed. Advertising pauses for some milliseconds at each turn, in which a
connection attempt fails as it does on the air.
"""

import sys

import dbus
import dbus.service

import bluez
from scenario import Call, GLib, wait_until

PATH = dbus.ObjectPath("/vm/pulse")
INTERFACE = "org.bluez.LEAdvertisement1"


class Pulse(dbus.service.Object):
    """A second advertisement, of nothing, on this adapter, from start to stop."""

    def __init__(self, bus, adapter_name):
        super().__init__(bus, PATH)
        self.bus, self.adapter_name = bus, adapter_name

    def call(self, method, *arguments):
        manager = bluez.interface(self.bus, f"/org/bluez/{self.adapter_name}", "org.bluez.LEAdvertisingManager1")
        Call(getattr(manager, method), PATH, *arguments).finish(f"pulse: {method}")

    def start(self):
        self.call("RegisterAdvertisement", dbus.Dictionary(signature="sv"))

    def stop(self):
        self.call("UnregisterAdvertisement")

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, name):
        return {"Type": "peripheral", "Discoverable": True}

    @dbus.service.method(INTERFACE, in_signature="", out_signature="")
    def Release(self):
        pass


def main(adapter_name):
    bus = dbus.SystemBus()
    pulse = Pulse(bus, adapter_name)

    def start():
        wait_until(f"{adapter_name} is on", lambda: bluez.adapter(bus, adapter_name))
        pulse.start()

    # At once, and again whenever bluetoothd is another; not within the callback, which blocks the replies.
    bus.watch_name_owner(bluez.BLUEZ, lambda owner: owner and GLib.idle_add(start))
    GLib.MainLoop().run()


if __name__ == "__main__":
    main(sys.argv[1])
