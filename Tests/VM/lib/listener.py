"""Says which signals the bus delivers to whoever runs it: `listening`, and then a line for each."""

import dbus
import dbus.mainloop.glib
from gi.repository import GLib


def show(*values, interface, member):
    print(f"{interface}.{member}", flush=True)


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
# Whatever anybody sends: what does not come, the bus has withheld.
bus.add_signal_receiver(show, interface_keyword="interface", member_keyword="member")
bus.get_name_owner("org.freedesktop.DBus")
print("listening", flush=True)
GLib.MainLoop().run()
