"""The script for SLURM: read by bash, looked over by shellcheck, its options known to Ray and to this command."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile

import pytest
import yaml

from tests.docker.test_images import ROOT
from tests.pipelines.small_run import raw_config, write_inputs

SCRIPT = ROOT / "docker" / "slurm" / "run.sbatch"


def shellcheck(path):
    program = shutil.which("shellcheck", path=sysconfig.get_path("scripts"))
    return subprocess.run([program, "--shell=bash", path], capture_output=True, text=True)


def test_bash_reads_it():
    subprocess.run(["bash", "-n", SCRIPT], check=True)


def test_shellcheck_finds_no_fault():
    result = shellcheck(SCRIPT)
    assert (result.returncode, result.stdout) == (0, "")


def test_shellcheck_finds_the_fault_of_a_bad_script(tmp_path):
    (tmp_path / "bad.sh").write_text("#!/bin/bash\nrm -rf $1/*\n")
    assert "SC2086" in shellcheck(tmp_path / "bad.sh").stdout


def test_every_directive_stands_before_the_first_command():
    lines = SCRIPT.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    directives = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert directives and max(directives) < first


def test_one_ray_on_each_node_with_a_token_and_the_command_on_the_first():
    text = SCRIPT.read_text()
    assert "#SBATCH --ntasks-per-node=1" in text
    assert "RAY_AUTH_MODE=token" in text
    assert re.search(
        r"ray symmetric-run --address \"\$head:\$port\" --min-nodes \"\$SLURM_JOB_NUM_NODES\"", text
    )
    assert text.index("export RAY_AUTH_MODE RAY_AUTH_TOKEN") < text.index("srun")
    assert re.search(r"-- \\\n  extraction run \"\$config\" --out \"\$out\" --ray-address auto\n", text)


def test_it_says_how_it_is_called(tmp_path):
    result = subprocess.run(["bash", SCRIPT], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode != 0
    assert "usage: sbatch run.sbatch CONFIG OUT" in result.stderr


@pytest.fixture
def one_node(tmp_path):
    """What the script finds on the first and only node of a job. SLURM itself is stood in for, Ray is real."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, command in {
        "scontrol": "echo 127.0.0.1",
        "srun": 'while [[ $1 == --* ]]; do shift; done; exec "$@"',
    }.items():
        (tools / name).write_text(f"#!/bin/bash\n{command}\n")
        (tools / name).chmod(0o755)
    temporary = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # names of sockets may not be long
    yield os.environ | {
        "PATH": f"{tools}:{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RAY_TMPDIR": temporary,
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "node1",
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_CPUS_PER_TASK": "2",
    }
    shutil.rmtree(temporary)


@pytest.mark.slow
def test_the_script_runs_an_audit_on_a_ray_of_its_own_and_ends_it(one_node, tmp_path):
    folder = tmp_path / "inputs"
    write_inputs(folder)
    (folder / "small.yaml").write_text(yaml.safe_dump(raw_config(folder, budgets=[1000])))
    # Among processes of its own: at its end the script stops every Ray that it sees.
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("only root can run among processes of its own")
    result = subprocess.run(
        [*alone, "bash", SCRIPT, "small.yaml", "run"],
        capture_output=True,
        text=True,
        env=one_node,
        cwd=folder,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Head node started" in result.stdout
    assert json.loads((folder / "run" / "report.json").read_text())["status"] == "complete"
