"""A person at a terminal who has read the README, and the transcript of what that person typed and saw.

The transcript that is kept in docs/newcomer.txt is one that was recorded; another run agrees with it when the two are the
same but for times, addresses, numbers and the like (`essence`).
"""

import difflib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from scenario import expect, fail, note, wait_until

README = Path("/vm/project/README.md")
ROWS, COLUMNS = 40, 100
# What apt says besides is about every package of the machine.
APT_SAYS_OF_OURS = re.compile(r"celestiad[: ].*|.*[^\w/]celestiad \(.*|Do you want to continue.*")
# A command in README or in what a program has said: a line, without its remark, what an arrow points to, or a span of code.
ADVICE = re.compile(r"(?:^|→ |`)((?:sudo|celestiad|printf) [^`\n]*?)(?= {2,}#|`|$)", re.MULTILINE)
# What a user puts something else for: NAME, FILE…, <serial>, "$USER".
FILLED_IN = re.compile(r'[A-Z]+…?|<[^>]+>|"\$USER"')
# What may be another in the next run, and what takes its place in a comparison.
VARYING = [
    # What the doctor thinks of this release of Debian, and what was done about it.
    (r"^\w+ +bluetoothd +bluetoothd [\d.]+\S* .*\n( {24}.*\n)*", ""),
    (r"^# The doctor has printed commands(.*\n)*?(?=\$ celestiad status)", ""),
    # Whether something has been set up on this machine to keep its clock: it has no network.
    (r"(nothing keeps|\S+ is to keep) the clock in time.*\n( {24}.*\n)*", "CLOCK\n"),
    (r"^(\d+ [a-z ]+, )+\d+ [a-z ]+$", "COUNTS"),
    # Stages may be too short to be seen.
    (r"^(searching|connecting|pairing|reading) …\n", ""),
    # Whether the hub was faster than the user.
    (r"^(all is in the cloud: 1 new session|nothing to do: all is in the cloud already)$", "ALL IS IN THE CLOUD"),
    (r"^(Do you want to c|C)ontinue\?", "Continue?"),
    # Where a line ends follows from how long it was.
    (r" · |\n {12,}(?![→ ])", " "),
    (r"\b([0-9A-F]{2}:){5}[0-9A-F]{2}\b", "ADDRESS"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|^[0-9a-f]{8}\b", "ID"),
    (r"\b\d+ (ms|s|min|h|d)( \d+ (s|min|h))?( ago)?\b|\bnow\b", "TIME"),
    (r"\b(20\d\d-\d\d-\d\d[ T])?\d\d:\d\d(:\d\d)?Z?\b", "TIME"),
    (r"\b127\.0\.0\.1:\d+", "CLOUD"),
    (r"\b\d{6}\b", "NUMBER"),
    (r"\b[\d.]+ [KMG]iB of [\d.]+ [KMG]iB\b", "SIZES"),
    (r"\b([Ll]ink) +(absent|idle|[a-z]+ing)\b", r"\1 STATE"),
    (r"(?<=\S) {2,}", "  "),
]


class Screen:
    """What of a program's output is left on the terminal: lines that it drew anew are there once."""

    # What is drawn elsewhere between saving and restoring the cursor, as apt's bar at the bottom.
    ELSEWHERE = re.compile(r"\x1b7.*?\x1b8", re.DOTALL)
    CONTROL = re.compile(r"\x1b\[\??(\d*)[;\d]*([A-Za-z])|\r\n|\n|\r")

    def __init__(self, text):
        self.lines, self.row = [""], 0
        text = self.ELSEWHERE.sub("", text)
        position = 0
        for control in self.CONTROL.finditer(text):
            self.write(text[position:control.start()])
            position = control.end()
            self.obey(control)
        self.write(text[position:])

    def write(self, text):
        if text:
            self.lines[self.row] += text

    def obey(self, control):
        if control[0] in ("\r\n", "\n"):
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif control[2] == "A":
            self.row = max(0, self.row - int(control[1] or 1))
        elif control[2] == "K":
            self.lines[self.row] = ""
        elif control[2] == "J":
            del self.lines[self.row:]
            self.lines.append("")

    def __str__(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")


class Newcomer:
    """Types commands as a user of the machine (`sudo` is believed) in a folder, one after the other."""

    def __init__(self, user, folder):
        self.user, self.folder = user, folder
        self.transcript = []

    def remark(self, text):
        """What the transcript's reader has to know."""
        self.transcript += ["", f"# {text}"]

    def type(self, command, *dialogue, status=0):
        """Types a command line that README or an earlier command has named. `dialogue` is what is waited for on the screen, a
        regular expression, and what is then answered: a text, or a function that gets the screen. `status` None: any."""
        self.expect_advised(command)
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(self.line(command), cwd=self.folder, stdin=end, stdout=end, stderr=end,
                                   start_new_session=True, preexec_fn=own_terminal,
                                   env=os.environ | {"TERM": "xterm", "LANG": "C.UTF-8"})
        os.close(end)
        os.set_blocking(terminal, False)
        output, steps, mark = "", list(dialogue), 0

        def finished():
            nonlocal output, mark
            try:
                while data := os.read(terminal, 4096):
                    output += data.decode(errors="replace")
            except (BlockingIOError, OSError):
                pass
            if steps and re.search(steps[0][0], str(Screen(output[mark:]))):
                answer = steps.pop(0)[1]
                os.write(terminal, (answer(output) if callable(answer) else answer).encode() + b"\n")
                mark = len(output)
            return process.poll() is not None

        wait_until(f"{command} ends", finished, 400)
        finished()
        os.close(terminal)
        shown = str(Screen(output))
        if "apt " in command:
            shown = "\n".join(line for line in shown.splitlines() if APT_SAYS_OF_OURS.fullmatch(line))
        print(shown)
        self.transcript += ["", f"$ {command}"] + shown.splitlines()
        if process.returncode:
            self.transcript.append(f"(exit status {process.returncode})")
        if process.returncode != status and status is not None or steps:
            fail(f"{command}: exit status {process.returncode}, not asked: {steps}")
        return shown

    def line(self, command):
        if "sudo " in command:
            return ["sh", "-c", command.replace("sudo ", "")]
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", "--", "sh", "-c", command]

    def expect_advised(self, command):
        """A newcomer knows nothing but what is written."""
        advice = ADVICE.findall("\n".join([README.read_text(), *self.transcript]))
        expect(f"README or the program has said: {command}", any(follows(command, advised) for advised in advice))

    def compare(self, kept):
        """Leaves the transcript with the logs, and fails when it is not what is kept but for what may vary."""
        text = "\n".join(self.transcript).strip("\n") + "\n"
        own = Path("/vm/share", os.environ["SCENARIO"], "transcript")
        own.write_text(text)
        difference = list(difflib.unified_diff(
            essence(kept.read_text() if kept.exists() else ""), essence(text), str(kept), "this run", lineterm=""))
        for line in difference:
            print(line)
        if difference:
            note(f"if that is how it should be: cp .build/vm/logs/{os.environ['SCENARIO']}/transcript docs/{kept.name}")
            fail("the transcript is another one")


def follows(command, advised):
    """Whether the command is the whole of what was advised, but for what a user fills in and a package's version."""
    typed, named = (re.sub(r"_[\d.+]+_", "_VERSION_", line).split() for line in (command, advised))
    return len(typed) == len(named) and all(FILLED_IN.fullmatch(name) or name == word for word, name in zip(typed, named))


def own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def essence(text):
    """The lines, with what may vary from run to run taken out."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.splitlines()
