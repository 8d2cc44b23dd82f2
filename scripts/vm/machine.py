"""One boot of the virtual machine: QEMU with the host's root over 9p, a serial log, and an end that is certain."""

import ctypes
import signal
import subprocess
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
WORK = PROJECT / ".build/vm"
PROGRAMS = PROJECT / ".build/release"
PR_SET_PDEATHSIG = 1

KERNEL_ARGUMENTS = (
    "console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr apparmor=0 selinux=0 audit=0 random.trust_cpu=on "
    "net.ifnames=0 systemd.gpt_auto=0 systemd.show_status=error systemd.log_color=no TERM=dumb "
    # The guest has an identity of its own, whatever host it runs on.
    "systemd.machine_id=ce1e571ad0000000000000000000cafe"
)


class Place:
    """What one machine has on the host: what it shares, its serial log, its disk. Machines that run at the same time
    have places of their own.
    """

    def __init__(self, name):
        self.share = WORK / f"share-{name}"
        self.serial = WORK / f"serial-{name}.log"
        self.disk = WORK / f"disk-{name}.raw"

    def serial_end(self, lines=30):
        """The last words of the guest, without the control characters of a terminal."""
        if not self.serial.exists():
            return "(no serial output)"
        text = self.serial.read_text(errors="replace").replace("\r", "")
        return "\n".join("    | " + line for line in text.splitlines()[-lines:])


def command(target, place, serial, disk=None, kvm=False):
    """The QEMU command line. Emulation by default: a /dev/kvm that is there may still not work. One processor: with
    two, emulation is no faster, and QEMU 10 loses the first one's timer now and then, which stalls the boot.
    """
    line = ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none", "-m", "1024"]
    line += ["-accel", "kvm", "-cpu", "host"] if kvm else ["-accel", "tcg", "-cpu", "max"]
    line += ["-kernel", f"{WORK}/kernel/vmlinuz", "-initrd", f"{WORK}/initramfs.gz"]
    line += ["-append", f"{KERNEL_ARGUMENTS} systemd.unit={target}"]
    line += ["-device", "virtio-rng-pci", "-serial", serial]
    for tag, path, writable in [("host", "/", False), ("project", PROJECT, False),
                                ("kernel", WORK / "kernel", False), ("share", place.share, True)]:
        readonly = "" if writable else ",readonly=on"
        line += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{readonly}"]
        line += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    if disk:
        # writeback: a flush of the guest reaches the file, what it did not flush may not.
        line += ["-drive", f"file={disk},if=virtio,format=raw,cache=writeback"]
    return line


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A running guest. Used as a context: whatever happens, no QEMU is left behind."""

    def __init__(self, place, target="vm-scenarios.target", disk=None, kvm=False):
        self.started = time.monotonic()
        place.serial.unlink(missing_ok=True)
        line = command(target, place, f"file:{place.serial}", disk, kvm)
        self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def seconds(self):
        return time.monotonic() - self.started

    @property
    def running(self):
        return self.process.poll() is None

    def kill(self):
        """The power cut from outside: nothing in the guest gets to write."""
        if self.running:
            self.process.kill()
        self.process.wait()


def shell(place, kvm=False):
    """Boots with this terminal as the guest's console; Ctrl-A X ends it by force."""
    line = command("vm-shell.target", place, "mon:stdio", kvm=kvm)
    return subprocess.call(line, preexec_fn=die_with_parent)
