"""The benchmarks behind ./bench: ratios of two things measured side by side, several times, medians quoted."""
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from bench_uploads import bench_large, bench_network, bench_small
from lab import Lab

MIB = 1 << 20
RUNS = 5


def capture(folder, size):
    """A folder with one capture of one audio file of so many bytes, none of them zero runs."""
    os.makedirs(f"{folder}/one", exist_ok=True)
    block = os.urandom(MIB)
    with open(f"{folder}/one/audio.wav", "wb") as file:
        for start in range(0, size, MIB):
            file.write(block[: min(MIB, size - start)])
    return folder


def median(values):
    return f"{statistics.median(values):.2f} (min {min(values):.2f}, max {max(values):.2f}, n {len(values)})"


def peak_rss(child):
    with open(f"/proc/{child.pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0


def synced(lab, limit=1800):
    lab.cli("sync", "--wait", str(limit))


def upload_run(binaries, size):
    """Seconds for the chunk requests of the daemon's own upload, and the daemon's peak memory over everything."""
    with Lab(binaries) as lab:
        bus = lab.bus()
        lab.cloud()
        lab.recorder(bus, capture(f"{lab.path}/captures", size))
        daemon = lab.daemon()
        lab.login()
        lab.pair()
        synced(lab)
        chunks = [r for r in lab.simulated("requests")["requests"] if r["operation"] in ("initializeChunkedUpload", "uploadChunk")]
        # To the last chunk: the server's merging belongs to neither side.
        return len(chunks), seconds_between(chunks[0]["at"], chunks[-1]["at"]), peak_rss(daemon)


def seconds_between(first, last):
    if isinstance(first, (int, float)):
        return last - first
    from datetime import datetime

    parse = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (parse(last) - parse(first)).total_seconds()


def curl_run(binaries, size, chunk=8 * MIB):
    """Seconds for curl -F to send the same chunks to the same kind of server, one after the other."""
    with Lab(binaries) as lab:
        lab.cloud()
        folder = f"{lab.path}/chunks"
        os.makedirs(folder)
        block = os.urandom(chunk)
        count = -(-size // chunk)
        for index in range(count):
            with open(f"{folder}/{index}", "wb") as file:
                file.write(block[: min(chunk, size - index * chunk)])

        def call(method, path, body=None, token=None):
            request = urllib.request.Request(lab.api + path, method=method)
            request.add_header("Content-Type", "application/json")
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            with urllib.request.urlopen(request, json.dumps(body).encode()) as answer:
                return json.load(answer)["data"]

        token = call("POST", "/auth/login", {"identifier": "ada", "password": "countess"})["token"]
        session = call("POST", "/sessions", {
            "clientId": "bench", "title": "bench", "startTime": "2026-11-30T10:00:00Z", "durationMs": 0, "events": [],
            "deletedEventClientIds": []}, token)["id"]
        upload = call("POST", f"/sessions/{session}/assets/init", {
            "clientId": "bench-asset", "kind": "AUDIO", "fileName": "audio.wav", "mimeType": "audio/wav",
            "fileSize": size, "chunkSize": chunk}, token)["uploadId"]
        # One curl for all chunks, so that it keeps its connection as the daemon does.
        with open(f"{lab.path}/curl.conf", "w") as file:
            for index in range(count):
                if index:
                    file.write("next\n")
                file.write(
                    f'url = "{lab.api}/sessions/{session}/assets/chunk"\nheader = "Authorization: Bearer {token}"\n'
                    f'header = "Expect:"\nsilent\noutput = /dev/null\nform = "uploadId={upload}"\n'
                    f'form = "chunkIndex={index}"\nform = "file=@{folder}/{index};type=application/octet-stream"\n')
        started = time.monotonic()
        subprocess.run(["curl", "-K", f"{lab.path}/curl.conf"], check=True)
        return time.monotonic() - started


def bench_upload(binaries):
    size = 1024 * MIB
    ratios, ours, theirs = [], [], []
    for _ in range(3):
        count, seconds, _ = upload_run(binaries, size)
        reference = curl_run(binaries, size)
        ours.append(size / MIB / seconds)
        theirs.append(size / MIB / reference)
        ratios.append(seconds / reference)
    print(f"upload of 1 GiB in {count - 1} chunks, MiB/s: celestiad {median(ours)}")
    print(f"                                         curl -F   {median(theirs)}")
    print(f"upload time, celestiad / curl: {median(ratios)}")


def bench_memory(binaries):
    for size in (64, 1024):
        print(f"peak RSS of the daemon, pull and upload of {size} MiB: {upload_run(binaries, size * MIB)[2]:.1f} MiB")


def bare_reader(size, frame=510):
    """Seconds to move the bytes as notifications through a SEQPACKET pair, credits granted as the profile does."""
    receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    credits = threading.Semaphore(64)
    payload = os.urandom(frame)
    count = -(-size // frame)

    def send():
        for _ in range(count):
            credits.acquire()
            sender.send(payload)

    thread = threading.Thread(target=send)
    started = time.monotonic()
    thread.start()
    for index in range(count):
        receiver.recv(frame)
        credits.release()
    thread.join()
    return time.monotonic() - started


def bench_pull(binaries):
    size = 256 * MIB
    ratios, ours, theirs = [], [], []
    for _ in range(3):
        with Lab(binaries) as lab:
            bus = lab.bus()
            lab.cloud()
            lab.recorder(bus, capture(f"{lab.path}/captures", size))
            daemon = lab.daemon()
            started = time.monotonic()
            lab.pair()
            deadline = time.monotonic() + 600
            while time.monotonic() < deadline:
                sessions = json.loads(lab.cli("sessions", "--json"))["sessions"]
                if sessions and all(session["state"] != "draft" for session in sessions):
                    break
                time.sleep(0.05)
            ours_seconds = time.monotonic() - started
        reader = bare_reader(size)
        ours.append(size / MIB / ours_seconds)
        theirs.append(size / MIB / reader)
        ratios.append(ours_seconds / reader)
    print(f"pull of 256 MiB by notifications, pairing and fsync included, MiB/s: celestiad {median(ours)}")
    print(f"                                     a bare reader of such a socket {median(theirs)}")
    print(f"pull time, celestiad / bare reader: {median(ratios)}")


def bench_start(binaries):
    seconds = []
    with Lab(binaries) as lab:
        lab.bus()
        lab.cloud()
        for _ in range(RUNS):
            started = time.monotonic()
            daemon = lab.daemon()
            seconds.append(time.monotonic() - started)
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
    print(f"daemon start to ready without bluetoothd, s: {median(seconds)}")
    seconds = []
    with Lab(binaries) as lab:
        bus = lab.bus()
        lab.cloud()
        lab.recorder(bus, capture(f"{lab.path}/captures", MIB))
        for _ in range(RUNS):
            started = time.monotonic()
            daemon = lab.daemon()
            seconds.append(time.monotonic() - started)
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
    print(f"daemon start to ready with bluetoothd, s:    {median(seconds)}")


BENCHES = {
    "start": bench_start, "pull": bench_pull, "memory": bench_memory, "upload": bench_upload, "small": bench_small,
    "network": bench_network, "large": bench_large}

if __name__ == "__main__":
    chosen = sys.argv[2:] or list(BENCHES)
    unknown = [name for name in chosen if name not in BENCHES]
    if unknown:
        raise SystemExit(f"usage: ./bench [{'|'.join(BENCHES)}]...")
    for name in chosen:
        BENCHES[name](sys.argv[1])
