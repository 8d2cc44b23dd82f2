"""L2CAP connection-oriented channels over LE. Python's own socket module cannot say an LE address type, so that bind
and connect are made by hand; everything after that is an ordinary socket.
"""

import ctypes
import os
import socket
import struct

AF_BLUETOOTH = 31
BTPROTO_L2CAP = 0
BDADDR_LE_PUBLIC = 1
OTS_SPSM = 0x0025
SOL_BLUETOOTH = 274
BT_SNDMTU = 12
libc = ctypes.CDLL(None, use_errno=True)


def sockaddr(address, psm):
    """struct sockaddr_l2: family, psm (little-endian), address (last byte first), cid, type, padding."""
    reversed_bytes = bytes.fromhex(address.replace(":", ""))[::-1]
    return struct.pack("=H", AF_BLUETOOTH) + struct.pack("<H6sHBx", psm, reversed_bytes, 0, BDADDR_LE_PUBLIC)


def call(function, sock, address, psm):
    raw = sockaddr(address, psm)
    if function(sock.fileno(), raw, len(raw)) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"{address} psm {psm:#06x}")


def listen(address, psm=OTS_SPSM):
    """A listening channel on the adapter of this address."""
    sock = socket.socket(AF_BLUETOOTH, socket.SOCK_STREAM, BTPROTO_L2CAP)
    call(libc.bind, sock, address, psm)
    sock.listen(1)
    return sock


def connect(local, remote, psm=OTS_SPSM):
    """A channel from the adapter `local` to `remote`. Unbound, or bound without a type, it would not be an LE one."""
    sock = socket.socket(AF_BLUETOOTH, socket.SOCK_STREAM, BTPROTO_L2CAP)
    call(libc.bind, sock, local, 0)
    call(libc.connect, sock, remote, psm)
    return sock


def send(channel, data):
    """Sends everything, in parts that the peer takes: a longer one is EMSGSIZE, on a stream socket too."""
    mtu = channel.getsockopt(SOL_BLUETOOTH, BT_SNDMTU) & 0xFFFF
    for offset in range(0, len(data), mtu):
        channel.sendall(data[offset:offset + mtu])
