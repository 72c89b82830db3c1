"""OpenSSH's own server on a free port of the loopback interface, with a host key and a user's key of its own."""

import getpass
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from noetl import tools
from tests.fork_server import FORK_SERVER
from tests.servers import free_port

LONG = 60.0
PRIVILEGE_SEPARATION = "/run/sshd"  # a folder that sshd wants to be there when root starts it


@dataclass(frozen=True)
class SshServer:
    """Where it listens, who may log in, and how it is known."""

    port: int
    user: str
    private_key: str
    host_key: asyncssh.SSHKey

    @property
    def fingerprint(self) -> str:
        return self.host_key.get_fingerprint()

    @property
    def public_key(self) -> str:
        """The key of the host, as a line of text."""
        return self.host_key.export_public_key().decode().strip()

    def login(self, **more: Any) -> dict[str, Any]:
        """A credential for it."""
        own = {"username": self.user, "private_key": self.private_key, "host_key": self.fingerprint}
        return {"host": "127.0.0.1", "port": self.port, **own, **more}


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """A server that runs while it is needed."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "sshd is not there: apt-get install openssh-server"
    if os.geteuid() == 0:
        os.makedirs(PRIVILEGE_SEPARATION, mode=0o755, exist_ok=True)
    host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    server = SshServer(free_port(), getpass.getuser(), user_key.export_private_key().decode(), host_key)
    config = _configured(folder, server, user_key)
    process = subprocess.Popen([program, "-D", "-e", "-f", config], stderr=subprocess.PIPE)
    listening, said = threading.Event(), []

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if b"Server listening" in line:
                listening.set()
        listening.set()

    reader = threading.Thread(target=read, name="sshd", daemon=True)
    reader.start()
    try:
        assert listening.wait(LONG)
        assert process.poll() is None, b"".join(said)
        yield server
    finally:
        process.terminate()
        process.wait(LONG)
        reader.join(LONG)
        assert process.stderr is not None
        process.stderr.close()


def _configured(folder: Path, server: SshServer, user_key: asyncssh.SSHKey) -> Path:
    host_key, allowed = folder / "host_key", folder / "authorized_keys"
    host_key.write_bytes(server.host_key.export_private_key())
    host_key.chmod(0o600)
    allowed.write_bytes(user_key.export_public_key())
    config = folder / "sshd_config"
    config.write_text(
        f"Port {server.port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nAuthorizedKeysFile {allowed}\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        "MaxStartups 100\nMaxSessions 100\nSubsystem sftp internal-sftp\n"
    )
    return config


def run_example(kind: str, server: SshServer, work: Path, **workload: str) -> Any:
    """The output of a kind's example, whose credential is kept first."""
    (work / "example.yaml").write_text(tools.kinds()[kind].example)
    environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(work / "home")}
    words = ["credential", "set", "build_host", "--input", "-"]
    kept = FORK_SERVER.run(words, work, environment, json.dumps(server.login()).encode())
    assert kept.returncode == 0, kept.stderr
    given = {"host": "127.0.0.1", "port": server.port, **workload}
    flags = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    done = FORK_SERVER.run(["run", "example.yaml", "--json", *flags], work, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["output"]
