"""What a scenario written in Python says. Everything waits on a condition; a condition has a generous deadline."""

import os
import sys
import time
from pathlib import Path

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
DEADLINE = 60
# Whether it ends badly: set by whatever ends it, for those who tell more then.
failed = False


def note_crash(*error):
    global failed
    failed = True
    sys.__excepthook__(*error)


sys.excepthook = note_crash


def note(text):
    print(f"{time.monotonic():.2f} {text}", flush=True)


def fail(text):
    global failed
    failed = True
    note(f"not so: {text}")
    sys.exit(1)


def expect(what, condition):
    """Fails the scenario unless the condition holds."""
    if not condition:
        fail(what)
    note(what)


def expect_equal(what, expected, actual):
    if expected != actual:
        fail(f"{what}: expected {expected!r}, found {actual!r}")
    note(what)


def wait_until(what, condition, seconds=DEADLINE, required=True, every=0.1):
    """Serves the main loop until the condition is true, and returns its value; past the deadline the scenario fails, or
    gets None when it is not required. `every`: how often at least it is looked at, for one that costs much."""
    end = time.monotonic() + seconds
    context = GLib.MainContext.default()
    # A condition may change without an event of this loop (a file, a process).
    tick = GLib.timeout_add(int(every * 1000), lambda: True)
    try:
        while True:
            value = condition()
            if value:
                note(what)
                return value
            if time.monotonic() > end:
                if not required:
                    return None
                fail(f"{what} (waited {seconds} s)")
            context.iteration(True)
    finally:
        GLib.source_remove(tick)


def power_cut():
    """The machine is dead from here on; the scenario starts again with BOOT + 1."""
    note("power cut")
    # The host kills QEMU when it sees the mark. Until then the machine runs on, as one does that does not know.
    Path("/vm/share", os.environ["SCENARIO"], "power-cut").touch()
    GLib.MainLoop().run()


class Call:
    """A D-Bus call under way, so that an agent of ours can be asked meanwhile."""

    def __init__(self, method, *arguments, timeout=DEADLINE, **options):
        self.done, self.error = False, None
        method(*arguments, timeout=timeout, reply_handler=self.reply, error_handler=self.refuse, **options)

    def reply(self, *values):
        self.values, self.done = values, True

    def refuse(self, error):
        self.error, self.done = error, True

    def finish(self, what, all=False):
        """Waits for the reply and returns its value, or all of them; an error fails the scenario."""
        wait_until(f"{what}: answered", lambda: self.done, DEADLINE + 5)
        if self.error:
            fail(f"{what}: {self.error.get_dbus_name()}: {self.error.get_dbus_message()}")
        if all:
            return self.values
        return self.values[0] if self.values else None
