"""The objects that a Kubernetes cluster is asked to make for a task of kind `container`."""

from collections.abc import Iterator
from typing import Any

from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.container_work import SHELL, Knobs, Work, facts
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.tool_context import ToolContext

MAIN = "main"
LEFT_S = 86_400  # how long the cluster keeps what nobody came back for
SECRET_BYTES = 1024**2  # more than the cluster takes


def manifest(name: str, work: Work, knobs: Knobs, context: ToolContext, secret: Secret) -> dict[str, Any]:
    """The Job."""
    labels = {"app.kubernetes.io/managed-by": "noetl", "noetl.io/execution": context.execution_id}
    private = bool(work.files or work.env)
    account = secret.get("service_account")
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": knobs.grace,
        **({"serviceAccountName": str(account)} if account else {}),
        **({"securityContext": _user(work.user)} if work.user else {}),
        "containers": [_container(name, work, knobs, context)],
        **({"volumes": [{"name": "files", "secret": {"secretName": name}}]} if work.files else {}),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "suspend": private,
            "ttlSecondsAfterFinished": LEFT_S,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def secret_manifest(name: str, work: Work, knobs: Knobs) -> dict[str, Any] | None:
    """What only its pod is to read: files and variables."""
    texts = {key: text for key, _, text in _files(work)} | {key: text for key, _, text in _variables(work)}
    if not texts:
        return None
    total = sum(len(text.encode()) for text in texts.values())
    if total > (most := min(knobs.max_file_bytes, SECRET_BYTES)):
        told = f"files and variables have {total} bytes, more than {most}"
        raise Failed("too_large", f"{told}: a Secret of Kubernetes holds {SECRET_BYTES} at most")
    metadata = {"name": name, "labels": {"app.kubernetes.io/managed-by": "noetl"}}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata,
        "type": "Opaque", "immutable": True, "stringData": texts,
    }  # fmt: skip


def _container(name: str, work: Work, knobs: Knobs, context: ToolContext) -> dict[str, Any]:
    limits = {"cpu": f"{max(round(knobs.cpus * 1000), 1)}m", "memory": str(knobs.memory_bytes)}
    line = isinstance(work.command, str)
    argv = [work.command] if line else [str(each) for each in work.command or ()]
    told = [{"name": name, "value": text} for name, text in facts(context).items()]
    own = [
        {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}
        for key, variable, _ in _variables(work)
    ]
    mounts = [
        {"name": "files", "mountPath": path, "subPath": key, "readOnly": True}
        for key, path, _ in _files(work)
    ]
    return {
        "name": MAIN,
        "image": work.image,
        "imagePullPolicy": "Never" if work.pull == "never" else "IfNotPresent",
        **({"command": SHELL} if line else {}),
        # Marks that the cluster would replace are meant as they are.
        **({"args": [str(each).replace("$(", "$$(") for each in argv]} if argv else {}),
        **({"workingDir": work.workdir} if work.workdir else {}),
        "env": told + own,
        "resources": {"limits": limits, "requests": limits},
        "securityContext": {"allowPrivilegeEscalation": False},
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _user(user: str) -> dict[str, int]:
    """A pod knows users by their numbers."""
    number, _, group = user.partition(":")
    if not number.isdecimal() or (group and not group.isdecimal()):
        raise Failed(
            "input", f"container input 'user': Kubernetes wants numbers, as 1000:1000, not {user[:40]!r}"
        )
    return {"runAsUser": int(number)} | ({"runAsGroup": int(group)} if group else {})


def _files(work: Work) -> Iterator[tuple[str, str, str]]:
    """The key, path and text of each file."""
    for at, (path, text) in enumerate((work.files or {}).items()):
        parts = path.split("/")
        if not path.startswith("/") or ".." in parts or not parts[-1] or "\0" in path or ":" in path:
            raise Failed("input", f"container input 'files': {path[:200]!r} is no absolute path of a file")
        yield f"file-{at}", path, text


def _variables(work: Work) -> Iterator[tuple[str, str, str]]:
    for at, (name, value) in enumerate((work.env or {}).items()):
        yield f"env-{at}", name, text_of(value)
