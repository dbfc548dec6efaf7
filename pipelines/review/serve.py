"""Serves the page: on the loopback address, or elsewhere for named users over an encrypted way."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from extraction.errors import InputError
from pipelines.review import log
from pipelines.review.app import make_app
from pipelines.review.guard import Sites
from pipelines.review.opened import Options, open_review, review_lock


@dataclass(frozen=True)
class Binding:
    """Where the page is served.

    Attributes:
        host: an address of this machine.
        port: 0 takes a free one.
        public_url: what people type, where the host is not the loopback address.
        tls: certificate and key files; None without encryption.
        behind_proxy: a proxy in front encrypts.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    public_url: str | None = None
    tls: tuple[Path, Path] | None = None
    behind_proxy: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or ip_address(self.host).is_loopback


def serve(run: Path, options: Options, binding: Binding, ready: Callable[[str], None]) -> None:
    """Serve until stopped.

    Args:
        run: a run directory.
        options: how the review is opened.
        binding: where.
        ready: told the address once it answers.

    Raises:
        InputError: the binding is not safe, the port is taken, or there is nothing to review.
    """
    import uvicorn

    check_binding(binding, with_users=bool(options.access.users))
    if binding.tls:
        _check_tls(*binding.tls)
    with review_lock(run, alone=False), _listening(binding) as listening:
        port = int(listening.getsockname()[1])
        sites = _sites(binding, port)
        review = open_review(run, options)
        log.record(review.store, "", "server started", host=binding.host, port=port)
        config = uvicorn.Config(
            make_app(review, sites),
            log_level="warning",
            access_log=False,  # addresses hold what people search for
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ssl_certfile=str(binding.tls[0]) if binding.tls else None,
            ssl_keyfile=str(binding.tls[1]) if binding.tls else None,
        )
        ready(binding.public_url or _own_url(binding, port))
        uvicorn.Server(config).run(sockets=[listening])
        review.store.close()


def check_binding(binding: Binding, with_users: bool) -> None:
    """Refuse what would send secrets in the clear or let everybody in.

    Raises:
        InputError: a part is missing; it is named.
    """
    try:
        local = binding.is_local
    except ValueError:
        raise InputError(f"--host {binding.host}: name an address of this machine, as 0.0.0.0") from None
    if local and binding.public_url is None:
        return
    where = "--public-url" if local else f"--host {binding.host}"
    where += " lets other machines in"
    if not with_users:
        raise InputError(f"{where}: name --users FILE too")
    if not binding.tls and not binding.behind_proxy:
        raise InputError(f"{where}: name --tls-cert and --tls-key, or --behind-proxy if one encrypts")
    url = urlsplit(binding.public_url or "")
    if url.scheme != "https" or not url.netloc or url.path.strip("/") or url.query:
        raise InputError(f"{where}: name its --public-url, as https://review.example")


def _check_tls(certificate: Path, key: Path) -> None:
    """Try both files before anything is opened.

    Raises:
        InputError: they cannot be used together.
    """
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one too
        reason = (
            error.strerror if error.errno and not isinstance(error, ssl.SSLError) else "no such pair in PEM"
        )
        raise InputError(f"--tls-cert {certificate}, --tls-key {key}: not usable ({reason})") from None


def _sites(binding: Binding, port: int) -> Sites:
    if binding.public_url:
        return Sites(frozenset({binding.public_url.rstrip("/").lower()}))
    local = Sites.loopback(port).origins | {_own_url(Binding(binding.host), port)}
    return Sites(frozenset(o.replace("http:", "https:") for o in local) if binding.tls else local)


def _own_url(binding: Binding, port: int) -> str:
    host = f"[{binding.host}]" if ":" in binding.host else binding.host
    return f"{'https' if binding.tls else 'http'}://{host}:{port}"


def _listening(binding: Binding) -> socket.socket:
    family = socket.AF_INET6 if ":" in binding.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((binding.host, binding.port))
        listening.listen()  # who asks before the page is ready waits, and is not refused
    except OSError as error:
        listening.close()
        raise InputError(
            f"--port {binding.port}: cannot be used ({error.strerror}); name another one"
        ) from None
    return listening
