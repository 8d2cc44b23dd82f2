"""A simulated recorder on hci1, and what the hub's side of a scenario does with its Object Transfer Service: by hand, so
that celestiad's own client is not what proves it.
"""

import os
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import dbus

import bluez
import coc
from central import Central
from scenario import Call, expect, expect_equal, wait_until

PROGRAM = "/vm/project/.build/release/celestia-recorder"
POLICY = Path("/vm/project/simulators/BlueZPeripheral/life.ccdw.CelestiaSim1.conf")
POLICIES = Path("/usr/share/dbus-1/system.d")
OTS = "00001825-0000-1000-8000-00805f9b34fb"
CAPTURE = "ce1e57a0-{}-4c41-8b1d-5e0f6d2a9b37"
OBJECT_DATA, OBJECT_DATA_CONTROL = CAPTURE.format("0004"), CAPTURE.format("0005")
FEATURE, SIZE, ACTION, LIST = (f"0000{short}-0000-1000-8000-00805f9b34fb" for short in ("2abd", "2ac0", "2ac5", "2ac6"))
NO_OPTIONS = dbus.Dictionary(signature="sv")
CREDITS = 32
FIRST_OBJECT = 0x100
# What is not written to the disk yet when a link ends, or celestiad, is asked for again: at most so much.
WINDOW = 256 * 1024


class Recorder:
    """`celestia-recorder` on an adapter, with one capture: files of these sizes. The first one that runs can be called."""

    def __init__(self, directory, *arguments, adapter="hci1", files={"walk.wav": 150_000, "tree.jpg": 40_001}):
        if not (POLICIES / POLICY.name).exists():
            shutil.copy(POLICY, POLICIES)
            subprocess.run(["systemctl", "reload", "dbus.service"], check=True)
        self.bus = dbus.SystemBus()
        self.captures, self.files, self.objects = directory / "captures", {}, {}
        for name, size in files.items():
            self.write("walk", name, size)
        self.number(sorted(files))
        self.output = directory / "recorder"
        self.start(adapter, *arguments)

    def start(self, adapter, *arguments):
        """Starts it, or after `stop` once more with the same files."""
        self.process = subprocess.Popen(
            [PROGRAM, "--adapter", adapter, "--captures", self.captures, *arguments], stdout=self.output.open("w"))

    def write(self, capture, name, size):
        (self.captures / capture).mkdir(parents=True, exist_ok=True)
        self.files[name] = random.Random(name).randbytes(size)
        (self.captures / capture / name).write_bytes(self.files[name])

    def number(self, names):
        """Notes the objects of a capture: its files have the next numbers, in order, and then its manifest."""
        first = max(self.objects.values(), default=FIRST_OBJECT - 2) + 2
        self.objects |= {name: first + position for position, name in enumerate(names)}

    def add(self, name, size):
        """Records one more capture of one file."""
        self.write(name.partition(".")[0], name, size)
        self.number([name])
        self.call("Rescan")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        # bluetoothd 5.66 may crash when an application goes whose answer it waited for on a link that has gone.
        subprocess.run(["systemctl", "start", "bluetooth.service"], check=True)

    def compare(self, asked):
        """What a person types who compares the number that is asked about with that on the display."""
        wait_until("the recorder shows a number", self.shown)
        return "y" if re.findall(r"\d{6}", asked)[-1:] == self.shown()[-1:] else "n"

    def said(self, pattern):
        """What the recorder said, by a regular expression of a line."""
        return re.findall(pattern, self.output.read_text(), re.MULTILINE)

    def is_ready(self):
        return bool(self.said("^ready "))

    def address(self):
        return self.said("@([0-9A-F:]{17})")[0]

    def shown(self):
        """The numbers that the recorder's display showed."""
        return self.said(r"shows (\d{6})")

    def sent(self, *names):
        """How many bytes of its files, or of these, it sent since it was started, lost ones included."""
        objects = {self.objects[name] for name in names or self.objects}
        return sum(count for number, count in self.call("Sent").items() if int(number, 16) in objects)

    def last_offset(self, name):
        """Where the last read of a file began that it was asked for."""
        return max(int(one[1]) for one in self.call("Transfers") if int(one[0], 16) == self.objects[name])

    def expect_resumed(self, name, cuts):
        """Not more than one window of the file was sent again for each cut in the middle of it."""
        sent, size = self.sent(name), len(self.files[name])
        expect(f"{sent} bytes of {name} sent for {size}, {cuts} cuts", size <= sent <= size + cuts * WINDOW)

    def requests(self):
        """How many requests its control points took since it was started."""
        return int(self.call("Requests"))

    def links(self):
        """How many links were made."""
        return len(self.said("is connected"))

    def is_linked(self):
        return self.links() > len(self.said("is disconnected"))

    def call(self, method, *arguments):
        """Calls the control interface of the simulator."""
        simulator = self.bus.get_object("life.ccdw.CelestiaSim1", "/sim", introspect=False)
        return getattr(dbus.Interface(simulator, "life.ccdw.CelestiaSim1"), method)("", *arguments)


class RecorderCentral(Central):
    """hci0 of a machine in which a recorder advertises on hci1."""

    service = OTS

    def __init__(self, *arguments):
        self.arguments = arguments
        super().__init__()

    def start(self):
        self.recorder = Recorder(self.directory, *self.arguments)
        return self.recorder.process

    def is_ready(self):
        return self.recorder.is_ready()

    def characteristic(self, uuid):
        path = wait_until(f"{uuid} is there", lambda: bluez.characteristic(self.bus, self.device, uuid))
        return bluez.interface(self.bus, path, "org.bluez.GattCharacteristic1")

    def resolve(self):
        wait_until("services resolved", lambda: self.properties().get("ServicesResolved"))


class Objects:
    """The Object Transfer Service of a paired recorder."""

    def __init__(self, central):
        self.central, self.responses = central, []
        self.bus = central.bus
        self.points = {uuid: central.characteristic(uuid) for uuid in (ACTION, LIST, SIZE)}
        self.bus.add_signal_receiver(self.changed, "PropertiesChanged", path_keyword="path")
        for uuid in (ACTION, LIST):
            Call(self.points[uuid].StartNotify).finish("StartNotify")

    def changed(self, interface, values, _, path):
        if path in (self.points[ACTION].object_path, self.points[LIST].object_path) and "Value" in values:
            self.responses.append(bytes(values["Value"]))

    def request(self, uuid, what, data):
        """Writes to a control point and waits for the indication that says that it was done."""
        self.responses.clear()
        Call(self.points[uuid].WriteValue, dbus.ByteArray(data), NO_OPTIONS).finish(what)
        wait_until(f"{what}: indicated", lambda: self.responses)
        expect_equal(f"{what}: done", [data[0], 1], list(self.responses[0][1:3]))

    def select(self, number):
        """Makes an object the current one and returns its size."""
        self.request(LIST, f"go to object {number:#x}", b"\x05" + number.to_bytes(6, "little"))
        return struct.unpack("<II", bytes(Call(self.points[SIZE].ReadValue, NO_OPTIONS).finish("size")))[0]

    def read(self, channel, number):
        """All bytes of an object, by the channel."""
        size = self.select(number)
        self.request(ACTION, f"read object {number:#x}", b"\x05" + struct.pack("<II", 0, size))
        data = b""
        while len(data) < size:
            part = channel.recv(65536)
            if not part:
                break
            data += part
        return data

    def listing(self, channel):
        """The number of each object, by name."""
        data, found = self.read(channel, 0), {}
        while data:
            length, number, name_length = struct.unpack("<H6sB", data[:9])
            found[data[9:9 + name_length].decode()] = int.from_bytes(number, "little")
            data = data[length:]
        return found

    def open_channel(self):
        channel = coc.connect(self.central.address, str(self.central.properties()["Address"]))
        channel.settimeout(30)
        return channel

    def read_by_notifications(self, number):
        """All bytes of an object, by the notification plane."""
        size = self.select(number)
        fd, _ = Call(self.central.characteristic(OBJECT_DATA).AcquireNotify, NO_OPTIONS).finish("AcquireNotify", all=True)
        fd = fd.take()
        os.set_blocking(fd, False)
        control = self.central.characteristic(OBJECT_DATA_CONTROL)
        start = b"\x01" + struct.pack("<IIH", 0, size, CREDITS)
        Call(control.WriteValue, dbus.ByteArray(start), NO_OPTIONS).finish("START")
        data, frames = b"", 0

        def more():
            nonlocal data, frames
            try:
                while True:
                    frame = os.read(fd, 1024)
                    expect_offset, = struct.unpack("<I", frame[:4])
                    if expect_offset != len(data):
                        raise ValueError(f"a frame at {expect_offset}, not {len(data)}")
                    data += frame[4:]
                    frames += 1
            except BlockingIOError:
                return len(data) >= size or frames == CREDITS

        while len(data) < size:
            wait_until(f"{len(data)} of {size} bytes came", more)
            if len(data) < size:
                frames = 0
                credit = b"\x02" + struct.pack("<H", CREDITS)
                Call(control.WriteValue, dbus.ByteArray(credit), NO_OPTIONS).finish("CREDIT")
        os.close(fd)
        return data
