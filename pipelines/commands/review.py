"""`extraction review`, `audit-log` and `purge`: people judge what came out, on record; then its texts are deleted."""

from pathlib import Path
from typing import Annotated

import typer

from extraction.errors import InputError
from pipelines.progress import inert

RunArgument = Annotated[
    Path, typer.Argument(help="A directory of `extraction run`, `match` or `rank`.", show_default=False)
]


def review(
    run: RunArgument,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8765,
    users: Annotated[
        Path | None, typer.Option("--users", help="File of users with roles; default: a token, printed here.")
    ] = None,
    add_user: Annotated[
        str | None,
        typer.Option("--add-user", metavar="NAME:ROLE", help="Ask for a password, write --users, and end."),
    ] = None,
    mask: Annotated[str, typer.Option("--mask", help="`identifiers`, or `whole` texts.")] = "identifiers",
    two_people: Annotated[
        bool, typer.Option("--two-people", help="Two people judge each item, blind; for good.")
    ] = False,
    include_text: Annotated[
        bool, typer.Option("--include-text", help="Let an admin's exports carry raw text.")
    ] = False,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, PEM.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of it encrypts.")
    ] = False,
    public_url: Annotated[
        str | None, typer.Option("--public-url", help="What people type: https://review.example")
    ] = None,
) -> None:
    """Serve the review page on this machine: judge passages, identifiers and candidates.

    Text is masked; revealing asks for a reason and is on record. Stop it with Ctrl-C.

    Example: extraction review runs/quickstart
    """
    from pipelines.review import access as allowed
    from pipelines.review.opened import Options
    from pipelines.review.serve import Binding, serve

    if add_user is not None:
        name, _, role = add_user.partition(":")
        if users is None:
            raise InputError("--add-user: name the file with --users")
        allowed.add_user(
            users, name, role, typer.prompt("Password", hide_input=True, confirmation_prompt=True)
        )
        typer.echo(inert(str(users)))
        return
    if mask not in ("identifiers", "whole"):
        raise InputError("--mask: `identifiers` or `whole`")
    if (tls_cert is None) != (tls_key is None):
        raise InputError("--tls-cert and --tls-key go together; name both")
    access = allowed.Access.by_file(users) if users else allowed.Access.by_token()
    options = Options(access, mask == "whole", two_people, include_text)
    tls = (tls_cert, tls_key) if tls_cert and tls_key else None
    binding = Binding(host, port, public_url, tls, behind_proxy)

    def ready(address: str) -> None:
        typer.echo(inert(address))
        if access.token:
            typer.echo(f"token: {access.token}")

    serve(run, options, binding, ready)


def audit_log(run: RunArgument) -> None:
    """Print the audit log of a run's review and check its chain.

    Exit status: 2 if an entry was altered or is missing.

    Example: extraction audit-log runs/quickstart
    """
    from pipelines.review.log import inspect
    from pipelines.review.store import FILE

    if not (run / FILE).exists():
        raise InputError(f"{run}: has no review; open one with `extraction review`")
    log, found = inspect(run)
    for entry in log:
        words = (entry.at, entry.who or "-", entry.action, entry.subject or "-", entry.reason, entry.details)
        said = "  ".join(str(word) for word in words if word and word != "{}")
        typer.echo(inert(f"{entry.seq}  {said}"))
    if found:
        raise InputError(f"{run / FILE}: {found}; restore it from a copy and find out who can write it")
    typer.echo(f"{len(log)} entries, whole; last hash {log[-1].digest}")


def purge(
    run: RunArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Delete the texts and token ids of a run; keep counts, keyed hashes, ids, verdicts and the audit log.

    An index inside the run directory is deleted too. Backups and snapshots of the disk are out of reach.

    Example: extraction purge runs/quickstart --dry-run
    """
    from getpass import getuser

    from pipelines.review.purge import purge as purge_run

    done = purge_run(run, getuser(), dry_run)
    for found in done.removed:
        rows = f" of {found.rows:,} rows" if found.rows else ""
        typer.echo(inert(f"{'would remove' if dry_run else 'removed'}  {found.path}: {found.what}{rows}"))
    for name in done.unknown:
        typer.echo(inert(f"not known, left as it is: {name}"))
    typer.echo(f"{len(done.removed)} files and folders{'; nothing was changed' if dry_run else ''}")
