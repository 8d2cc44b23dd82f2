"""Uploads against curl, over plain HTTP and TLS, and over a network that breaks: what ./bench large, small and network do."""
import json
import os
import random
import ssl
import statistics
import subprocess
import time
import urllib.request
from datetime import datetime

from lab import Lab

MIB = 1 << 20
GIB = 1 << 30
CHUNK = 8 * MIB


class Usage:
    """CPU seconds and peak resident memory of a process."""

    def __init__(self, seconds, peak):
        self.seconds = seconds
        self.peak = peak


def usage_of(child):
    """Of one that runs, so far."""
    with open(f"/proc/{child.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    with open(f"/proc/{child.pid}/status") as file:
        peak = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
    return Usage((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak)


def run_to_end(command):
    """Seconds and usage of a command."""
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return time.monotonic() - started, Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make_certificate(folder):
    """For 127.0.0.1, and its own authority."""
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=bench "
        "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem")
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return f"{folder}/cert.pem", f"{folder}/key.pem"


class UploadLab(Lab):
    """A lab whose cloud is behind TLS if so wanted, and behind a bad network."""

    def open_cloud(self, tls=False, proxied=False):
        self.certificate = None
        if tls:
            self.certificate, key = make_certificate(self.path)
            self.environment["CELESTIAD_CLOUD_CA_FILE"] = self.certificate
            self.cloud("--tls", self.certificate, key)
        else:
            self.cloud()
        self.context = ssl.create_default_context(cafile=self.certificate) if tls else None
        if proxied:
            port = self.api.split(":")[2].split("/")[0]
            _, line = self.start(["simulators/cloud/tcp-proxy", "--exit-with-stdin", f"127.0.0.1:{port}"], "ready ")
            _, proxy, control = line.split()
            self.proxy = f"http://127.0.0.1:{control}/"
            self.environment["CELESTIAD_CLOUD_URL"] = self.api.replace(f":{port}/", f":{proxy}/")

    def fetch(self, url, method="GET", body=None, token=None):
        request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), method=method)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, context=self.context) as answer:
            return json.load(answer)

    def tell_proxy(self, **command):
        return self.fetch(self.proxy, "POST", command)

    def requests(self, *operations):
        entries = self.fetch(f"{self.sim}/requests")["requests"]
        return [(moment(entry["at"]), entry) for entry in entries if entry["operation"] in operations]

    def wait_for(self, what, condition, limit=3600):
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"{what} did not come about")
            time.sleep(0.5)

    def state_of_sessions(self):
        return [session["state"] for session in json.loads(self.cli("sessions", "--json"))["sessions"]]

    def status(self):
        """Exits with 14 where something is not as it should be."""
        command = [f"{self.binaries}/celestiad", "status", "--json"]
        return json.loads(subprocess.run(command, env=self.environment, capture_output=True, text=True).stdout)

    def session_for_curl(self):
        """A token and a session to put assets into."""
        login = {"identifier": "ada", "password": "countess"}
        token = self.fetch(self.api + "/auth/login", "POST", login)["data"]["token"]
        session = self.fetch(self.api + "/sessions", "POST", {
            "clientId": "bench", "title": "bench", "startTime": "2026-11-30T10:00:00Z", "durationMs": 0, "events": [],
            "deletedEventClientIds": []}, token)["data"]["id"]
        return token, f"{self.api}/sessions/{session}/assets"

    def curl_lines(self, url, token, **fields):
        lines = [f'url = "{url}"', f'header = "Authorization: Bearer {token}"', 'header = "Expect:"', "silent", "fail",
                 "output = /dev/null"]
        if self.certificate:
            lines.append(f'cacert = "{self.certificate}"')
        return "\n".join(lines + [f'form = "{name}={value}"' for name, value in fields.items()])

    def run_curl(self, requests, *options):
        with open(f"{self.path}/curl.conf", "w") as file:
            file.write("\nnext\n".join(requests) + "\n")
        return run_to_end(["curl", *options, "-K", f"{self.path}/curl.conf"])


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def write_file(path, size):
    block = os.urandom(MIB)
    with open(path, "wb") as file:
        for start in range(0, size, MIB):
            # No two pieces alike.
            file.write(start.to_bytes(8, "big") + block[: min(MIB, size - start) - 8])
    return path


def upload_of_daemon(binaries, size, tls):
    """Seconds from the first chunk to the last, and the daemon's usage while it uploaded."""
    with UploadLab(binaries) as lab:
        lab.bus()
        lab.open_cloud(tls)
        daemon = lab.daemon()
        source = write_file(f"{lab.path}/audio.wav", size)
        lab.cli("import", source)
        os.unlink(source)
        before = usage_of(daemon)
        lab.login()
        lab.wait_for("the upload", lambda: lab.state_of_sessions() == ["imported"])
        after = usage_of(daemon)
        chunks = lab.requests("initializeChunkedUpload", "uploadChunk")
        return chunks[-1][0] - chunks[0][0], Usage(after.seconds - before.seconds, after.peak)


def upload_of_curl(binaries, size, tls):
    """The same chunks by one curl, which keeps its connection as the daemon does."""
    with UploadLab(binaries) as lab:
        lab.open_cloud(tls)
        token, assets = lab.session_for_curl()
        upload = lab.fetch(f"{assets}/init", "POST", {
            "clientId": "bench-asset", "kind": "AUDIO", "fileName": "audio.wav", "mimeType": "audio/wav",
            "fileSize": size, "chunkSize": CHUNK}, token)["data"]["uploadId"]
        chunk = write_file(f"{lab.path}/chunk", CHUNK)
        return lab.run_curl([
            lab.curl_lines(f"{assets}/chunk", token, uploadId=upload, chunkIndex=index,
                           file=f"@{chunk};type=application/octet-stream") for index in range(size // CHUNK)])


def bench_large(binaries, sizes=((GIB, 3), (10 * GIB, 1))):
    for size, runs in sizes:
        for tls in (False, True):
            ours = [upload_of_daemon(binaries, size, tls) for _ in range(runs)]
            theirs = [upload_of_curl(binaries, size, tls) for _ in range(runs)]
            print(f"upload of {size // GIB} GiB over {'TLS' if tls else 'plain HTTP'}:")
            for name, results in (("celestiad", ours), ("curl -F", theirs)):
                rate = statistics.median(size / MIB / seconds for seconds, _ in results)
                cpu = statistics.median(usage.seconds / (size / GIB) for _, usage in results)
                peak = max(usage.peak for _, usage in results)
                print(f"  {name:9} {rate:6.0f} MiB/s, {cpu:.2f} CPU s/GiB, peak RSS {peak:.1f} MiB, n {runs}", flush=True)


def bench_small(binaries):
    count, size = 1000, 16 << 10
    with UploadLab(binaries) as lab:
        bus = lab.bus()
        lab.open_cloud()
        folder = f"{lab.path}/captures/one"
        os.makedirs(folder)
        for index in range(count):
            write_file(f"{folder}/{index:04}.jpg", size)
        lab.recorder(bus, f"{lab.path}/captures")
        daemon = lab.daemon()
        lab.pair()
        lab.wait_for("the pull", lambda: set(lab.state_of_sessions()) == {"queued_offline"})
        before = usage_of(daemon).seconds
        lab.login()
        lab.wait_for("the upload", lambda: set(lab.state_of_sessions()) == {"imported"})
        assets = lab.requests("uploadAsset")
        seconds = assets[-1][0] - assets[0][0]
        report = [("celestiad, 2 at a time", seconds, usage_of(daemon).seconds - before)]
    for parallel in (2, 50):
        with UploadLab(binaries) as lab:
            lab.open_cloud()
            token, assets = lab.session_for_curl()
            file = write_file(f"{lab.path}/photo.jpg", size)
            seconds, usage = lab.run_curl([
                lab.curl_lines(assets, token, clientId=f"asset-{index}", kind="PHOTO", file=f"@{file};type=image/jpeg")
                for index in range(count)], "--parallel", "--parallel-max", str(parallel))
            report.append((f"curl --parallel, {parallel} at a time", seconds, usage.seconds))
    print(f"{count} assets of {size >> 10} KiB:")
    for name, seconds, cpu in report:
        print(f"  {name:28} {seconds:5.2f} s, {count / seconds:5.0f} a second, {cpu:.2f} CPU s")


def wasted_bytes(binaries, cuts):
    """Bytes that go up for 128 MiB over a connection that is cut so often."""
    size = 128 * MIB
    with UploadLab(binaries) as lab:
        lab.bus()
        lab.open_cloud(proxied=True)
        lab.daemon()
        lab.cli("import", write_file(f"{lab.path}/audio.wav", size))
        generator = random.Random(1)
        plan = [{"direction": "up", "after": generator.randrange(CHUNK // 4, 3 * CHUNK // 2)} for _ in range(cuts)]
        lab.login()
        lab.tell_proxy(cut=plan, dropAll="rst")
        lab.wait_for("the upload", lambda: lab.state_of_sessions() == ["imported"])
        state = lab.tell_proxy()
        if state["cut"] != cuts:
            raise SystemExit(f"{state['cut']} of {cuts} cuts")
        return state["bytesUp"] - size


def seconds_to_first_byte(binaries):
    """From the moment at which an address comes up to the first byte of the next request."""
    with UploadLab(binaries) as lab:
        lab.bus()
        lab.open_cloud(proxied=True)
        lab.daemon()
        lab.login()
        lab.tell_proxy(mode="refuse", dropAll="rst")
        lab.cli("import", write_file(f"{lab.path}/audio.wav", MIB))
        # Long enough that the next attempt of its own is far away.
        lab.wait_for("the wait", lambda: lab.status()["queue"].get("reason"))
        time.sleep(8)
        lab.tell_proxy(mode="pass")
        began = time.monotonic()
        subprocess.run(["ip", "address", "add", "192.0.2.1/32", "dev", "lo"], check=True)
        lab.wait_for("a byte", lambda: any(at > began for at in lab.tell_proxy()["firstBytesAt"]))
        lab.wait_for("the upload", lambda: lab.state_of_sessions() == ["imported"])
        return min(at for at in lab.tell_proxy()["firstBytesAt"] if at > began) - began


def bench_network(binaries):
    cuts = 10
    baseline = wasted_bytes(binaries, 0)
    wasted = (wasted_bytes(binaries, cuts) - baseline) / cuts
    print(f"wasted per forced disconnect: {wasted / MIB:.2f} MiB of a chunk's {CHUNK // MIB} (mean of {cuts})")
    # In a network namespace of its own, where an address may come and go.
    command = ["unshare", "--map-root-user", "--net", "/usr/bin/python3", __file__, binaries]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        print(f"the network's return could not be measured: {result.stderr.strip().splitlines()[-1]}")
    else:
        print(result.stdout.strip())


if __name__ == "__main__":
    import sys

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    times = []
    for _ in range(5):
        times.append(seconds_to_first_byte(sys.argv[1]))
        subprocess.run(["ip", "address", "del", "192.0.2.1/32", "dev", "lo"], check=True)
    print(f"from the network's return to the first byte: {statistics.median(times):.2f} s"
          f" ({min(times):.2f} ... {max(times):.2f}, n {len(times)})")
