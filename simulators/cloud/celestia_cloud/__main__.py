"""The command line: `celestia-cloud --help`."""

import argparse
import asyncio
import os
import signal
import ssl
import sys
import threading
from pathlib import Path

try:
    from aiohttp import web
except ModuleNotFoundError:
    sys.exit("celestia-cloud: install first: apt-get install python3-aiohttp")

from .cloud import Cloud, Folder, Options
from .server import BASE_PATH, Server

STOP_SECONDS = 3.0
TLS_VERSIONS = {"1.1": ssl.TLSVersion.TLSv1_1, "1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
READ_BUFFER = 1 << 20


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="celestia-cloud",
        description="Simulates the Celestia cloud on 127.0.0.1, with state, strictness and faults.",
    )
    parser.add_argument("--port", type=int, default=0, help="TCP port; 0 (default) takes a free one")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep asset bytes in DIR/assets/<sha256>")
    parser.add_argument("--keep", action="store_true", help="with --data: go on with what DIR holds, after a kill too")
    parser.add_argument(
        "--user", action="append", default=[], metavar="NAME:PASSWORD", type=_user, help="register a user (repeatable)"
    )
    parser.add_argument("--token-lifetime", type=float, default=3600, metavar="SECONDS", help="default 3600")
    parser.add_argument("--upload-lifetime", type=float, default=86400, metavar="SECONDS", help="default 86400")
    parser.add_argument("--quota", type=int, default=Options.quota, metavar="BYTES", help="default 64 GiB")
    parser.add_argument(
        "--chunk-size", type=int, default=Options.chunk_size, metavar="BYTES", help="the largest that init agrees to"
    )
    parser.add_argument("--success-code", type=int, default=0, help="`code` of a success envelope, default 0")
    parser.add_argument("--seed", type=int, default=1, help="for the choice among legal answers, default 1")
    parser.add_argument("--clock-skew", type=float, default=0, metavar="SECONDS", help="added to the server's clock")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), help="serve HTTPS with these PEM files")
    parser.add_argument("--tls-version", choices=TLS_VERSIONS, help="speak no other one")
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    parser.add_argument("--verbose", action="store_true", help="print each request to standard error")
    options = parser.parse_args(arguments)
    if options.keep and not options.data:
        parser.error("--keep needs --data DIR")
    return options


def main() -> int:
    options = parse_arguments(sys.argv[1:])
    try:
        folder = Folder(options.data, options.keep)
    except OSError as error:
        print(f"celestia-cloud: {error}", file=sys.stderr)
        return 2
    try:
        asyncio.run(_serve(options, folder))
    except OSError as error:
        print(f"celestia-cloud: {error}", file=sys.stderr)
        return 1
    finally:
        folder.close()
    return 0


async def _serve(options: argparse.Namespace, folder: Folder) -> None:
    cloud = Cloud(
        Options(
            users=options.user,
            token_lifetime=options.token_lifetime,
            upload_lifetime=options.upload_lifetime,
            quota=options.quota,
            chunk_size=options.chunk_size,
            success_code=options.success_code,
            seed=options.seed,
            clock_skew=options.clock_skew,
        ),
        folder,
    )
    tls = _make_tls(options) if options.tls else None
    server = Server(cloud, options.verbose)
    runner = web.AppRunner(server.application(), access_log=None, read_bufsize=READ_BUFFER)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port, ssl_context=tls).start()
    stopped = _stop_event(options.exit_with_stdin)
    port = runner.addresses[0][1]
    print(f"ready {'https' if tls else 'http'}://127.0.0.1:{port}{BASE_PATH}", flush=True)
    if tls:
        # For tests, whose own client need not know the authority.
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"control http://127.0.0.1:{runner.addresses[1][1]}/_sim/", flush=True)
    await stopped.wait()
    server.stop()
    try:
        await asyncio.wait_for(runner.cleanup(), STOP_SECONDS)
    except asyncio.TimeoutError:
        pass


def _make_tls(options: argparse.Namespace) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*options.tls)
    if options.tls_version:
        # OpenSSL speaks the old ones at its lowest security level only.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = TLS_VERSIONS[options.tls_version]
    return context


def _stop_event(watch_stdin: bool) -> asyncio.Event:
    """Set by SIGTERM, SIGINT, and the end of standard input where that is wanted."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    def wait_for_end() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stopped.set)

    if watch_stdin:
        threading.Thread(target=wait_for_end, daemon=True).start()
    return stopped


def _user(text: str) -> tuple[str, str]:
    name, colon, password = text.partition(":")
    if not colon or len(name) < 2 or len(password) < 6:
        raise argparse.ArgumentTypeError("NAME:PASSWORD with at least 2 and 6 characters is wanted")
    return name, password


if __name__ == "__main__":
    sys.exit(main())
