"""org.bluez as the scenarios see it: a second opinion, independent of celestiad's own client."""

import dbus
import dbus.service

BLUEZ = "org.bluez"
AGENT_PATH = dbus.ObjectPath("/vm/agent")


def interface(bus, path, name):
    return dbus.Interface(bus.get_object(BLUEZ, path, introspect=False), name)


def objects(bus):
    """Every object of bluetoothd, or none while it is away."""
    try:
        manager = interface(bus, "/", "org.freedesktop.DBus.ObjectManager")
        return manager.GetManagedObjects()
    except dbus.DBusException:
        return {}


def properties(bus, path, name):
    """The properties of one interface of one object; empty when there is none."""
    return objects(bus).get(path, {}).get(name, {})


def adapter(bus, name):
    """The path of an adapter that is powered, or None."""
    path = f"/org/bluez/{name}"
    return path if properties(bus, path, "org.bluez.Adapter1").get("Powered") else None


def device_with_service(bus, adapter_path, uuid):
    """The path of a device that this adapter heard, by an advertised service; or None."""
    for path, interfaces in objects(bus).items():
        device = interfaces.get("org.bluez.Device1")
        if device and device["Adapter"] == adapter_path and uuid in device.get("UUIDs", []):
            return path
    return None


def characteristic(bus, device_path, uuid):
    """The path of a device's characteristic, or None."""
    for path, interfaces in objects(bus).items():
        found = interfaces.get("org.bluez.GattCharacteristic1")
        if found and path.startswith(device_path + "/") and found["UUID"] == uuid:
            return path
    return None


class Agent(dbus.service.Object):
    """A pairing agent that says yes to a numeric comparison and hands the number to `on_passkey`."""

    def __init__(self, bus, on_passkey, default=False):
        super().__init__(bus, AGENT_PATH)
        self.on_passkey = on_passkey
        manager = interface(bus, "/org/bluez", "org.bluez.AgentManager1")
        manager.RegisterAgent(AGENT_PATH, "DisplayYesNo")
        if default:
            # Who is being paired did not ask for it: bluetoothd turns to the default agent.
            manager.RequestDefaultAgent(AGENT_PATH)

    @dbus.service.method("org.bluez.Agent1", in_signature="ou", out_signature="")
    def RequestConfirmation(self, device, passkey):
        self.on_passkey(f"{passkey:06d}")

    @dbus.service.method("org.bluez.Agent1", in_signature="", out_signature="")
    def Cancel(self):
        pass

    @dbus.service.method("org.bluez.Agent1", in_signature="", out_signature="")
    def Release(self):
        pass
