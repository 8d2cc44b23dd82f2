"""Controllers of btvirt that can do two things which those that it makes itself cannot: have several links at a time, and
come back as another hciN with the address that they had.

btvirt numbers the links of each controller from 42 on, but announces a link, and passes its data on, with the number of the
end that made it or sent them, so that a second link works only where both ends give it the same; and the address of a controller that it makes on /dev/vhci holds the number of
hciN. Here btvirt emulates controllers behind its socket; this carries commands and events between them and /dev/vhci, and
the data from one end of a link to the other itself, with the number that the link has there.

Run as a program: `bridge.py COUNT`, until it is killed. Reads `unplug N` and `plug N` (of controllers, counted from 0) from
its standard input, and prints `controller N is hciM`.
"""

import itertools
import os
import select
import socket
import struct
import sys
import time

SERVER = "/tmp/bt-server-le"
COMMAND, DATA, EVENT, VENDOR = 1, 2, 4, 0xFF
DISCONNECTED, COMPLETED, META, COMMAND_COMPLETE = 0x05, 0x13, 0x3E, 0x0E
CONNECTED, KEY_REQUESTED = (0x01, 0x0A), 0x05
READ_ADDRESS, DISCONNECT = 0x1009, 0x0406
POWER_OFF = 0x15
FIRST_LINK = 42
START_NO_FLUSH, START = 0x0, 0x2


class Controller:
    def __init__(self, number, others):
        self.number, self.others = number, others
        self.emulator = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while self.emulator.connect_ex(SERVER):
            # Its socket is there before btvirt listens.
            time.sleep(0.1)
        self.address, self.links, self.received = None, {}, b""
        self.host = None

    def plug(self):
        self.host = os.open("/dev/vhci", os.O_RDWR)
        os.write(self.host, bytes([VENDOR, 0]))

    def unplug(self):
        """The kernel loses it, and on the air its links end."""
        os.close(self.host)
        self.host = None
        for link in self.links:
            self.emulator.sendall(struct.pack("<BHBHB", COMMAND, DISCONNECT, 3, link, POWER_OFF))

    def from_host(self):
        packet = os.read(self.host, 4096)
        if packet[0] == VENDOR:
            print(f"controller {self.number} is hci{struct.unpack('<H', packet[2:4])[0]}", flush=True)
        elif packet[0] == DATA:
            self.carry(packet)
        else:
            self.emulator.sendall(packet)

    def carry(self, packet):
        """Data go to the other end of their link, and the kernel is told that they left."""
        number, = struct.unpack("<H", packet[1:3])
        link, flags = number & 0xFFF, number >> 12
        peer = next((other for other in self.others if other.address == self.links.get(link)), None)
        far = next((far for far, address in peer.links.items() if address == self.address), None) if peer else None
        if far is not None:
            flags = START if flags == START_NO_FLUSH else flags
            peer.to_host(bytes([DATA]) + struct.pack("<H", far | flags << 12) + packet[3:])
        self.to_host(struct.pack("<BBBBHH", EVENT, COMPLETED, 5, 1, link, 1))

    def from_emulator(self):
        data = self.emulator.recv(4096)
        if not data:
            sys.exit("btvirt is gone")
        self.received += data
        while len(self.received) >= 3 and len(self.received) >= 3 + self.received[2]:
            length = 3 + self.received[2]
            packet, self.received = self.received[:length], self.received[length:]
            self.to_host(self.note(packet))

    def note(self, packet):
        """Learns the address, and which links there are. btvirt announces a link to both ends with the number of the one
        that made it, and then knows it by the first that was free."""
        event, values = packet[1], packet[3:]
        if event == META and values[0] in CONNECTED and values[1] == 0:
            link = next(number for number in itertools.count(FIRST_LINK) if number not in self.links)
            self.links[link] = values[6:12]
            return packet[:5] + struct.pack("<H", link) + packet[7:]
        if event == META and values[0] == KEY_REQUESTED and len(self.links) == 1:
            # It says the number of the other end here, too.
            return packet[:4] + struct.pack("<H", *self.links) + packet[6:]
        if event == DISCONNECTED and values[0] == 0:
            self.links.pop(struct.unpack("<H", values[1:3])[0], None)
        elif event == COMMAND_COMPLETE and struct.unpack("<H", values[1:3])[0] == READ_ADDRESS:
            self.address = values[4:10]
        return packet

    def to_host(self, packet):
        if self.host is not None:
            os.write(self.host, packet)


def main(count):
    controllers = []
    for number in range(count):
        controllers.append(Controller(number, controllers))
    for controller in controllers:
        controller.plug()
    while True:
        sources = {0: None}
        for controller in controllers:
            sources[controller.emulator.fileno()] = controller.from_emulator
            if controller.host is not None:
                sources[controller.host] = controller.from_host
        for source in select.select(list(sources), [], [])[0]:
            if source == 0:
                lines = os.read(0, 4096).decode().splitlines()
                if not lines:
                    return
                for command, number in map(str.split, lines):
                    getattr(controllers[int(number)], command)()
                # What was ready may be closed.
                break
            sources[source]()


if __name__ == "__main__":
    main(int(sys.argv[1]))
