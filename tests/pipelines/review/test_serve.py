"""The command itself, in processes of its own: killed, stopped, and two at once."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from pipelines.review import log
from pipelines.review.store import Store
from tests.pipelines.review import cases

COMMAND = [sys.executable, "-m", "pipelines", "review"]


@contextmanager
def serving(run, *arguments):
    """The page as a user starts it; gives its process, its address and its token."""
    process = subprocess.Popen(
        [*COMMAND, str(run), "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.PIPE,
    )
    try:
        address = process.stdout.readline().strip()
        token = process.stdout.readline().strip().removeprefix("token: ")
        yield process, address, token
    finally:
        process.kill()
        process.communicate()


def logged_in(address, token):
    client = httpx.Client(base_url=address, headers={"origin": address})
    assert client.post("/login", data={"secret": token}).status_code == 303
    return client


def csrf_of(client):
    return re.search(r'name="csrf" value="([^"]+)"', client.get("/items/a1").text).group(1)


def test_a_killed_server_loses_no_verdict_that_was_acknowledged(run):
    acknowledged = []
    with serving(run) as (process, address, token):
        client = logged_in(address, token)
        csrf = csrf_of(client)
        for number in range(20):
            fields = {"csrf": csrf, "verdict": "private", "note": str(number)}
            assert client.post("/items/a1/verdict", data=fields).status_code == 303
            acknowledged.append(str(number))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        client.close()
    store = Store(run)
    assert [note for (note,) in store.rows("SELECT note FROM verdicts ORDER BY id")] == acknowledged
    assert log.fault(store, log.entries(store)) is None
    store.close()


def test_two_servers_on_one_run_see_each_others_verdicts(run):
    with serving(run) as (_, first, one), serving(run) as (_, second, two):
        a, b = logged_in(first, one), logged_in(second, two)
        a.post("/items/a1/verdict", data={"csrf": csrf_of(a), "verdict": "private", "note": "by the first"})
        assert "by the first" in b.get("/items/a1").text
        b.post("/items/b1/verdict", data={"csrf": csrf_of(b), "verdict": "public", "note": "by the second"})
        assert "by the second" in a.get("/items/b1").text
        a.close()
        b.close()
    store = Store(run)
    assert log.fault(store, log.entries(store)) is None
    store.close()


def test_it_listens_on_the_loopback_address_and_sends_no_text_to_the_terminal(run):
    with serving(run) as (process, address, token):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        client = logged_in(address, token)
        client.post("/items/a1/reveal", data={"csrf": csrf_of(client), "reason": "a customer asked"})
        client.get("/?q=Whitcombe")
        client.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert not any(secret in out + err for secret in (*cases.SECRETS, "Whitcombe", token))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--users"),
        (["--tls-cert", "x.pem"], "go together"),
        (["--mask", "nothing"], "--mask"),
        (["--users", "missing.yaml"], "no such file"),
        (["--add-user", "ada:admin"], "--users"),
        (["--two-people"], "--users"),
    ],
)
def test_wrong_use_is_one_line(run, command, arguments, said):
    status, _, err = command("review", run, *arguments)
    assert status == 2 and said in err and err.count("\n") == 1


def test_a_folder_without_a_run_is_named(tmp_path, command):
    status, _, err = command("review", tmp_path / "none")
    assert status == 2 and "none" in err
    (tmp_path / "empty").mkdir()
    status, _, err = command("review", tmp_path / "empty")
    assert status == 2 and "nothing to review" in err


def certificate(folder):
    """A self-signed certificate for the loopback address, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on this machine")
    cert, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=review", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [openssl, "req", "-x509", *kind, *names, "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    return cert, key


def test_it_speaks_tls_with_a_certificate(run, tmp_path):
    cert, key = certificate(tmp_path)
    with serving(run, "--tls-cert", str(cert), "--tls-key", str(key)) as (_, address, token):
        assert address.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=address, headers={"origin": address}, verify=trusted) as client:
            answer = client.post("/login", data={"secret": token})
            assert answer.status_code == 303 and "Secure" in answer.headers["set-cookie"]
            assert client.get("/items/a1").status_code == 200
            elsewhere = {"origin": address.replace("https:", "http:")}
            assert client.post("/login", data={"secret": token}, headers=elsewhere).status_code == 403
        with pytest.raises(httpx.TransportError), httpx.Client(trust_env=False) as plain:
            plain.get(address.replace("https:", "http:"))


def test_what_is_no_certificate_is_named_before_anything_is_opened(run, tmp_path, command):
    cert, key = certificate(tmp_path)
    for first, second in ((key, cert), (tmp_path / "none.pem", key)):
        status, _, err = command("review", run, "--tls-cert", first, "--tls-key", second)
        assert status == 2 and str(first) in err and err.count("\n") == 1
    assert not (run / "review.sqlite").exists()


def test_another_loopback_address_answers_to_itself(run):
    with serving(run, "--host", "127.0.0.9") as (_, address, token):
        assert address.startswith("http://127.0.0.9:")
        logged_in(address, token).close()
