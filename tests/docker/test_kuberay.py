"""The job for Kubernetes: its pods by Kubernetes' own schema, what KubeRay adds by sets that are listed by hand."""

import copy
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.docker.test_images import ROOT, pins_of_file

MANIFEST = ROOT / "docker" / "kuberay" / "rayjob.yaml"
KUBERNETES = "1.34"

# Read by hand from the types and the reference of KubeRay 1.6, for no package carries its schema: a field that is
# not in here may exist all the same, one that is misspelt does not pass.
RAY_JOB_FIELDS_LISTED_BY_HAND = {
    "activeDeadlineSeconds", "backoffLimit", "clusterSelector", "deletionStrategy", "entrypoint", "entrypointNumCpus",
    "entrypointNumGpus", "entrypointResources", "jobId", "managedBy", "metadata", "rayClusterSpec", "runtimeEnvYAML",
    "shutdownAfterJobFinishes", "submissionMode", "submitterConfig", "submitterPodTemplate", "suspend",
    "ttlSecondsAfterFinished",
}  # fmt: skip
RAY_CLUSTER_FIELDS_LISTED_BY_HAND = {
    "authOptions", "autoscalerOptions", "enableInTreeAutoscaling", "gcsFaultToleranceOptions", "headGroupSpec",
    "headServiceAnnotations", "managedBy", "rayVersion", "suspend", "workerGroupSpecs",
}  # fmt: skip
HEAD_FIELDS_LISTED_BY_HAND = {
    "enableIngress", "headService", "rayStartParams", "serviceType", "template",
}  # fmt: skip
WORKER_FIELDS_LISTED_BY_HAND = {
    "groupName", "idleTimeoutSeconds", "maxReplicas", "minReplicas", "numOfHosts", "rayStartParams", "replicas",
    "scaleStrategy", "suspend", "template",
}  # fmt: skip


@pytest.fixture
def documents():
    return {document["kind"]: document for document in yaml.safe_load_all(MANIFEST.read_text())}


@pytest.fixture
def job(documents):
    return documents["RayJob"]["spec"]


def groups(job):
    cluster = job["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def as_pod(template):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **copy.deepcopy(template)}


def test_every_pod_is_one_by_the_schema_of_kubernetes(job):
    for group in groups(job):
        kubernetes_validate.validate(as_pod(group["template"]), KUBERNETES, strict=True)


def test_the_schema_refuses_a_misspelt_field(job):
    pod = as_pod(groups(job)[0]["template"])
    pod["spec"]["containers"][0]["volumeMount"] = pod["spec"]["containers"][0].pop("volumeMounts")
    with pytest.raises(kubernetes_validate.ValidationError, match="volumeMount"):
        kubernetes_validate.validate(pod, KUBERNETES, strict=True)


def test_the_volume_is_one_by_the_schema_and_many_nodes_may_write_to_it(documents):
    claim = documents["PersistentVolumeClaim"]
    kubernetes_validate.validate(claim, KUBERNETES, strict=True)
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


def test_what_kuberay_adds_has_fields_that_it_knows(documents, job):
    cluster = job["rayClusterSpec"]
    assert documents["RayJob"]["apiVersion"] == "ray.io/v1"
    assert set(job) <= RAY_JOB_FIELDS_LISTED_BY_HAND
    assert set(cluster) <= RAY_CLUSTER_FIELDS_LISTED_BY_HAND
    assert set(cluster["headGroupSpec"]) <= HEAD_FIELDS_LISTED_BY_HAND
    for group in cluster["workerGroupSpecs"]:
        assert set(group) <= WORKER_FIELDS_LISTED_BY_HAND
    assert all(isinstance(v, str) for group in groups(job) for v in group["rayStartParams"].values())


def test_strangers_are_kept_out_and_nothing_runs_on_for_ever(job):
    assert job["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    assert job["shutdownAfterJobFinishes"] is True
    assert 0 < job["backoffLimit"] < 10
    assert job["submitterConfig"]["backoffLimit"] >= 0


def test_every_container_has_its_resources_and_the_volume_and_no_rights(documents, job):
    claim = documents["PersistentVolumeClaim"]["metadata"]["name"]
    for group in groups(job):
        pod = group["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes["data"]["persistentVolumeClaim"]["claimName"] == claim
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            resources = container["resources"]
            assert {"cpu", "memory"} <= set(resources["requests"]) and resources["requests"] == resources[
                "limits"
            ]
            assert {"data", "shm"} == {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_every_worker_has_the_gpu_that_its_engine_takes(job):
    for group in job["rayClusterSpec"]["workerGroupSpecs"]:
        (container,) = group["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_ray_and_the_user_are_those_of_the_image(job):
    dockerfile = (ROOT / "docker" / "Dockerfile.gpu").read_text()
    assert f"=={job['rayClusterSpec']['rayVersion']}" == pins_of_file(ROOT / "constraints-vllm.txt")["ray"]
    users = {group["template"]["spec"]["securityContext"]["runAsUser"] for group in groups(job)}
    assert [f"USER {user}\n" in dockerfile for user in users] == [True]


def test_the_command_is_one_that_there_is(job):
    command, subcommand, config, *options = job["entrypoint"].split()
    assert (command, subcommand, Path(config).suffix) == ("extraction", "run", ".yaml")
    assert options[0::2] == ["--out", "--ray-address"]
    mounted = [
        m["mountPath"]
        for g in groups(job)
        for c in g["template"]["spec"]["containers"]
        for m in c["volumeMounts"]
    ]
    assert all(any(path.startswith(mount) for mount in mounted) for path in (config, options[1]))
