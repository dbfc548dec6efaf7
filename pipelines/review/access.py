"""Who may do what: a token printed at the start, or a file of users with hashed passwords and roles."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from extraction.errors import InputError
from extraction.settings import Settings
from pipelines.config import read_yaml
from pipelines.parts import write_file

Role = Literal["viewer", "reviewer", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "reviewer", "admin")  # each may do what those before it may
OWNER = "owner"
SHORTEST_PASSWORD = 12


class User(Settings):
    """One line of the users file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]*$", max_length=60, description="Of the login.")
    role: Role = Field(description="viewer: masked text alone; reviewer: reveals and judges; admin: all.")
    password: str = Field(pattern=r"^\$argon2id\$", description="Hash made by `--add-user`.", repr=False)


class Users(Settings):
    """The users file."""

    users: tuple[User, ...] = Field(min_length=1, description="Everybody who may log in.")


@dataclass(frozen=True)
class Access:
    """Checks names and secrets.

    Attributes:
        users: by name; empty where a token is used.
        token: what the owner logs in with; None where there are users.
    """

    users: Mapping[str, User] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)

    @classmethod
    def by_token(cls) -> "Access":
        """One user, the owner of the run, with a token made now."""
        return cls(token=secrets.token_urlsafe(24))

    @classmethod
    def by_file(cls, path: Path) -> "Access":
        """The users of a file.

        Raises:
            InputError: it is missing, wrong, or others may read it.
        """
        return cls({user.name: user for user in read_users(path)})

    def role_of(self, name: str, secret: str) -> Role | None:
        """The role of whoever knows this secret; None where it is wrong. Takes as long for an unknown name."""
        if self.token is not None:
            return "admin" if hmac.compare_digest(secret.encode(), self.token.encode()) else None
        user = self.users.get(name)
        known = _matches(user.password if user else _nobody(), secret)
        return user.role if user and known else None


def read_users(path: Path) -> tuple[User, ...]:
    """Read a users file.

    Raises:
        InputError: it is missing, wrong, or others may read it.
    """
    raw = read_yaml(path)
    if path.stat().st_mode & 0o077:
        raise InputError(f"{path}: others may read it; run `chmod 600` on it")
    try:
        users = Users.model_validate(raw).users
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}: `{where}`: {first['msg']}; make users with --add-user") from None
    if len({user.name for user in users}) != len(users):
        raise InputError(f"{path}: `users`: a name stands there twice; keep one")
    return users


def add_user(path: Path, name: str, role: str, password: str) -> None:
    """Add a user to a file, or give one of its users another password or role.

    Raises:
        InputError: the name, the role or the password is not allowed.
    """
    from argon2 import PasswordHasher

    if len(password) < SHORTEST_PASSWORD:
        raise InputError(f"--add-user {name}: a password has at least {SHORTEST_PASSWORD} characters")
    others = [user for user in (read_users(path) if path.exists() else ()) if user.name != name]
    made = {"name": name, "role": role, "password": PasswordHasher().hash(password)}
    try:
        users = Users(users=(*others, User.model_validate(made)))
    except ValidationError as error:
        field_name = error.errors(include_input=False)[0]["loc"][0]
        raise InputError(f"--add-user: `{field_name}` is not allowed; roles are {', '.join(ROLES)}") from None
    write_file(str(path), yaml.safe_dump(users.model_dump(mode="json"), sort_keys=False).encode())


def _matches(hashed: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return PasswordHasher().verify(hashed, password)
    except (Argon2Error, InvalidHashError):
        return False


@cache
def _nobody() -> str:
    """A hash that no password has, as slow to check as any."""
    from argon2 import PasswordHasher

    return PasswordHasher().hash(secrets.token_hex())
