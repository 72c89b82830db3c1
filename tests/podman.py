"""Podman's service on a socket of its own, with an image that holds busybox, and a registry that has it too."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONG = 120.0
IMAGE = "localhost/busybox:test"
PROGRAMS = (
    "sh",
    "echo",
    "cat",
    "sleep",
    "env",
    "id",
    "wc",
    "head",
    "tr",
    "yes",
    "ls",
    "trap",
    "touch",
    "stat",
)
# What a machine may not allow its containers is not asked for; runc knows both ways of limiting them. Locks are files,
# since several services on one machine would share them in memory.
CONFIG = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "runc"
"""


@dataclass(frozen=True)
class Podman:
    """A service, and a way to look at what it has."""

    folder: Path
    socket: str
    environment: dict[str, str]

    @property
    def host(self) -> str:
        return f"unix://{self.socket}"

    def run(self, *words: str) -> str:
        """What its own program says."""
        done = subprocess.run(
            [*_program(self.folder), *words],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LONG,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def names(self) -> list[str]:
        """The containers that are there."""
        return self.run("ps", "--all", "--format", "{{.Names}}").split()


def _program(folder: Path) -> list[str]:
    program = shutil.which("podman")
    assert program is not None, "podman is not there: apt-get install podman runc busybox-static"
    return [
        program, "--root", str(folder / "root"), "--runroot", str(folder / "run"), "--storage-driver", "vfs",
        "--network-config-dir", str(folder / "net"), "--tmpdir", str(folder / "tmp"),
    ]  # fmt: skip


@contextmanager
def podman(registry: str | None = None) -> Iterator[Podman]:
    """A service that runs while it is needed, in a folder whose name is short: its own may have 50 characters."""
    with tempfile.TemporaryDirectory(prefix="podman-", ignore_cleanup_errors=True) as folder:
        yield from _service(Path(folder), registry)


def _service(folder: Path, registry: str | None) -> Iterator[Podman]:
    (folder / "containers.conf").write_text(CONFIG)
    insecure = "" if registry is None else f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n'
    (folder / "registries.conf").write_text(insecure)
    own = {"CONTAINERS_CONF": "containers.conf", "CONTAINERS_REGISTRIES_CONF": "registries.conf"}
    environment = {**os.environ, **{name: str(folder / file) for name, file in own.items()}}
    there = Podman(folder, str(folder / "podman.sock"), environment)
    (folder / "rootfs.tar").write_bytes(root_folder())
    there.run("import", str(folder / "rootfs.tar"), IMAGE)
    command = [*_program(folder), "--log-level", "info", "system", "service", "--time", "0", there.host]
    service = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE)
    listening, said = threading.Event(), []

    def read() -> None:
        assert service.stderr is not None
        for line in service.stderr:
            said.append(line)
            if b"API service listening" in line:
                listening.set()
        listening.set()

    reader = threading.Thread(target=read, name="podman", daemon=True)
    reader.start()
    try:
        assert listening.wait(LONG)
        assert service.poll() is None, b"".join(said)
        yield there
    finally:
        service.terminate()
        service.wait(LONG)
        there.run("rm", "--all", "--force", "--time", "0")
        reader.join(LONG)
        assert service.stderr is not None
        service.stderr.close()


def root_folder() -> bytes:
    """A root folder with nothing but busybox, as an archive."""
    program = shutil.which("busybox")
    assert program is not None, "busybox is not there: apt-get install busybox-static"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("bin", "tmp", "proc", "sys", "dev", "etc"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        archive.add(program, "bin/busybox")
        for name in PROGRAMS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return buffer.getvalue()


def registry_answers(name: str) -> dict[str, tuple[str, bytes]]:
    """What a registry says at which path, when it has one image of one layer: media type and content."""
    layer = root_folder()
    packed = gzip.compress(layer, mtime=0)
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/echo", "pulled"]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }).encode()  # fmt: skip
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": kind,
        "config": _described("application/vnd.docker.container.image.v1+json", config),
        "layers": [_described("application/vnd.docker.image.rootfs.diff.tar.gzip", packed)],
    }).encode()  # fmt: skip
    blob = "application/octet-stream"
    return {
        "/v2/": ("application/json", b"{}"),
        f"/v2/{name}/manifests/latest": (kind, manifest),
        f"/v2/{name}/manifests/{_digest(manifest)}": (kind, manifest),
        f"/v2/{name}/blobs/{_digest(config)}": (blob, config),
        f"/v2/{name}/blobs/{_digest(packed)}": (blob, packed),
    }


def _digest(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _described(kind: str, raw: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "size": len(raw), "digest": _digest(raw)}
