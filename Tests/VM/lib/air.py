"""Advertisements as a controller heard them, before bluetoothd joins what it knows of a device."""

import ctypes
import os
import socket
import struct

from coc import AF_BLUETOOTH, libc

BTPROTO_HCI = 1
SOL_HCI, HCI_FILTER = 0, 2
EVENT_PACKET, LE_META, ADVERTISING_REPORT = 4, 0x3E, 0x02
CONNECTABLE = 0
FLAGS, SOME_SERVICES, ALL_SERVICES = 0x01, 0x02, 0x03


class Reports:
    """The advertising reports of a controller from here on."""

    def __init__(self, number):
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_NONBLOCK, BTPROTO_HCI)
        events = struct.pack("<IIIH2x", 1 << EVENT_PACKET, 0, 1 << LE_META - 32, 0)
        self.socket.setsockopt(SOL_HCI, HCI_FILTER, events)
        address = struct.pack("=HHH", AF_BLUETOOTH, number, 0)
        if libc.bind(self.socket.fileno(), address, len(address)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"hci{number}")

    def advertising(self):
        """What came in advertising packets (not in answers to a scan): the fields of each, by type."""
        found = []
        while True:
            try:
                packet = self.socket.recv(512)
            except BlockingIOError:
                return found
            if packet[1] != LE_META or packet[3] != ADVERTISING_REPORT or packet[5] != CONNECTABLE:
                continue
            # One report a packet, as btvirt sends them: type, kind of address, address, length, data.
            data, fields = packet[14:14 + packet[13]], {}
            while data and data[0]:
                fields[data[1]] = data[2:1 + data[0]]
                data = data[1 + data[0]:]
            found.append(fields)


def services(fields):
    """The 16-bit services that are named."""
    data = fields.get(SOME_SERVICES, b"") + fields.get(ALL_SERVICES, b"")
    return [number for number, in struct.iter_unpack("<H", data)]
