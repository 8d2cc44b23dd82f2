"""The smallest peripheral: one service with one value that only an authenticated link may read, advertised on an
adapter. Run as a program: `peripheral.py hci1 DIR`; DIR then gets `ready`, and `passkey` when it is paired.
"""

import sys
from pathlib import Path

import dbus
import dbus.service

import bluez
from scenario import Call, GLib, note, wait_until

SERVICE = "c0de0001-5ca1-ab1e-0000-00805f9b34fb"
SECRET = "c0de0002-5ca1-ab1e-0000-00805f9b34fb"
VALUE = b"only for those who are paired"
NO_OPTIONS = dbus.Dictionary(signature="sv")
PROPERTIES = "org.freedesktop.DBus.Properties"


class Exported(dbus.service.Object):
    """An object of one interface with constant properties."""

    def __init__(self, bus, path, name, values):
        super().__init__(bus, path)
        self.name, self.values = name, dbus.Dictionary(values, signature="sv")

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, name):
        return self.values if name == self.name else dbus.Dictionary(signature="sv")


class Secret(Exported):
    @dbus.service.method("org.bluez.GattCharacteristic1", in_signature="a{sv}", out_signature="ay")
    def ReadValue(self, options):
        offset = int(options.get("offset", 0))
        return dbus.Array(VALUE[offset:], signature="y")


class Application(dbus.service.Object):
    """The object manager that GattManager1 asks for the services."""

    def __init__(self, bus):
        super().__init__(bus, "/vm/application")
        service = Exported(
            bus, "/vm/application/service", "org.bluez.GattService1", {"UUID": SERVICE, "Primary": True})
        secret = Secret(bus, "/vm/application/service/secret", "org.bluez.GattCharacteristic1", {
            "UUID": SECRET, "Service": dbus.ObjectPath("/vm/application/service"),
            "Flags": dbus.Array(["encrypt-authenticated-read"], signature="s")})
        self.members = [service, secret]

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {dbus.ObjectPath(m.__dbus_object_path__): {m.name: m.values} for m in self.members}


class Advertisement(Exported):
    @dbus.service.method("org.bluez.LEAdvertisement1", in_signature="", out_signature="")
    def Release(self):
        pass


def main(adapter_name, directory):
    bus = dbus.SystemBus()
    adapter = wait_until(f"{adapter_name} is on", lambda: bluez.adapter(bus, adapter_name))
    bluez.Agent(bus, (directory / "passkey").write_text, default=True)
    application = Application(bus)
    gatt = bluez.interface(bus, adapter, "org.bluez.GattManager1")
    Call(gatt.RegisterApplication, dbus.ObjectPath("/vm/application"), NO_OPTIONS).finish("GATT application registered")
    advertisement = Advertisement(bus, "/vm/advertisement", "org.bluez.LEAdvertisement1", {
        "Type": "peripheral", "ServiceUUIDs": dbus.Array([SERVICE], signature="s"), "Discoverable": True})
    advertiser = bluez.interface(bus, adapter, "org.bluez.LEAdvertisingManager1")
    Call(advertiser.RegisterAdvertisement, dbus.ObjectPath("/vm/advertisement"), NO_OPTIONS).finish("advertising")
    (directory / "ready").touch()
    note("ready")
    GLib.MainLoop().run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
