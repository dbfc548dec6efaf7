import pytest

from extraction.errors import InputError
from pipelines.review.access import Access, add_user, read_users
from pipelines.review.opened import Options, open_review
from pipelines.review.serve import Binding, check_binding
from pipelines.review.sessions import IDLE_SECONDS, LONGEST_SECONDS, Sessions, Throttle

PASSWORD = "long enough for this"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_users_are_kept_with_hashed_passwords(tmp_path):
    path = tmp_path / "users.yaml"
    add_user(path, "rosa", "reviewer", PASSWORD)
    add_user(path, "ada", "admin", PASSWORD)
    add_user(path, "rosa", "viewer", PASSWORD + "!")
    assert PASSWORD not in path.read_text() and path.stat().st_mode & 0o077 == 0
    access = Access.by_file(path)
    assert access.role_of("ada", PASSWORD) == "admin"
    assert access.role_of("rosa", PASSWORD + "!") == "viewer"
    assert access.role_of("rosa", PASSWORD) is None
    assert access.role_of("nobody", PASSWORD) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("users: []", "users"),
        ("users: [{name: a, role: boss, password: $argon2id$x}]", "users.0.role"),
        ("users: [{name: a, role: admin, password: secret}]", "users.0.password"),
        ("users: [{name: a, role: admin, password: $argon2id$x, more: 1}]", "users.0.more"),
        (
            "users: [{name: a, role: admin, password: $argon2id$x}, {name: a, role: viewer, password: $argon2id$x}]",
            "twice",
        ),
    ],
)
def test_a_wrong_users_file_is_named_with_its_field(tmp_path, text, said):
    path = tmp_path / "users.yaml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match=said) as raised:
        read_users(path)
    assert "secret" not in str(raised.value)


def test_a_users_file_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "users.yaml"
    add_user(path, "ada", "admin", PASSWORD)
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Access.by_file(path)


@pytest.mark.parametrize(
    ("name", "role", "password"),
    [("ada", "admin", "short"), ("ada", "boss", PASSWORD), ("<b>", "admin", PASSWORD)],
)
def test_users_that_are_not_allowed(tmp_path, name, role, password):
    with pytest.raises(InputError, match="--add-user"):
        add_user(tmp_path / "users.yaml", name, role, password)
    assert not (tmp_path / "users.yaml").exists()


def test_a_token_is_another_each_time():
    first, second = Access.by_token(), Access.by_token()
    assert first.role_of("", first.token) == "admin"
    assert first.role_of("", second.token) is None and first.role_of("", "") is None


def test_sessions_end_when_idle_and_after_a_day_of_work():
    clock = Clock()
    sessions = Sessions(clock)
    cookie = sessions.begin("rosa", "reviewer")
    clock.now = IDLE_SECONDS
    assert sessions.get(cookie).user == "rosa"
    clock.now += IDLE_SECONDS + 1
    assert sessions.get(cookie) is None
    cookie = sessions.begin("rosa", "reviewer")
    began = clock.now
    while clock.now < began + LONGEST_SECONDS:
        assert sessions.get(cookie)
        clock.now += IDLE_SECONDS
    clock.now += 1
    assert sessions.get(cookie) is None


def test_guessing_gets_slower_and_slower():
    clock = Clock()
    throttle = Throttle(clock)
    tries = 0
    while clock.now < 3600:
        clock.now += throttle.begin("ada")
        tries += throttle.begin("ada") == 0
    assert tries < 40
    clock.now += 1
    assert throttle.begin("rosa") == 0  # another name is held up for a second at most


def test_a_guess_that_is_being_checked_counts_already():
    throttle = Throttle(Clock())
    waits = [throttle.begin("ada") for _ in range(10)]
    assert waits[:3] == [0, 0, 0] and all(wait > 0 for wait in waits[3:])


def test_a_right_password_forgets_the_failures():
    throttle = Throttle(Clock())
    for _ in range(50):
        assert throttle.begin("ada") == 0
        throttle.succeeded("ada")


@pytest.mark.parametrize(
    ("binding", "with_users", "said"),
    [
        (Binding("0.0.0.0"), False, "--users"),
        (Binding("0.0.0.0"), True, "--tls-cert"),
        (Binding("0.0.0.0", behind_proxy=True), True, "--public-url"),
        (Binding("0.0.0.0", behind_proxy=True, public_url="http://review.example"), True, "https"),
        (Binding("127.0.0.1", public_url="https://review.example"), False, "--users"),
        (Binding("127.0.0.1", public_url="https://review.example"), True, "--behind-proxy"),
        (Binding("review.example"), True, "an address of this machine"),
        (Binding("0.0.0.0", behind_proxy=True, public_url="https://review.example"), True, None),
        (Binding("127.0.0.1"), False, None),
        (Binding("::1"), False, None),
        (Binding("localhost"), False, None),
    ],
)
def test_other_machines_are_let_in_by_name_and_encrypted_only(binding, with_users, said):
    if said is None:
        check_binding(binding, with_users)
        return
    with pytest.raises(InputError, match=said):
        check_binding(binding, with_users)


def test_one_token_is_not_two_people(tmp_path):
    with pytest.raises(InputError, match="--two-people: name --users"):
        open_review(tmp_path, Options(Access.by_token(), two_people=True))
    assert list(tmp_path.iterdir()) == []
