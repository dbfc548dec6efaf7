"""The command itself, in processes of its own: killed, stopped, and two at once."""

import os
import re
import signal
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
