"""The host of isolated python processes: which call goes to which process, and how many of them there are.

One process is kept warm; others are started when calls have to wait, and replaced when they end. A process
runs one call at a time, so whatever a call does to its process it does to itself. Calls that are known to be
quick are handed to a busy process, many at a time; those behind one that turns out slow are taken back. No
process is handled here: that is process.py.
"""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from noetl.dsl.yaml.tree import Value
from noetl.errors import BackendError, InvariantViolation
from noetl.ports.call import Limits, Ran
from noetl.worker.python.call import Launch, OnOutput, Paces, Request, ignore
from noetl.worker.python.process import Process

MEMORY_BYTES = 4 << 30  # of address space; libraries with many threads map a good deal of it
RESULT_BYTES = 64 << 20
OPEN_FILES = 1024
GRACE_S = 1.0
PATIENCE_S = 0.005  # how long a call waits for a busy process before another one is started
CORES = os.cpu_count() or 1
ENVIRONMENT = {"PATH": os.defpath, "LANG": "C.UTF-8"}

_variables = msgspec.json.Encoder()


class PythonHost:
    """Runs the author's code in warm processes of their own; belongs to one event loop."""

    def __init__(
        self,
        max_processes: int | None = None,
        limits: Limits | None = None,
        *,
        work_dir: str | None = None,
        environment: Mapping[str, str] | None = None,
        result_bytes: int = RESULT_BYTES,
        grace_s: float = GRACE_S,
        python: str = sys.executable,
    ) -> None:
        limits = limits or Limits()
        self._launch = Launch(
            python=python,
            folder=work_dir or "",
            environment=environment or {},
            memory_bytes=limits.memory_bytes or MEMORY_BYTES,
            cpu_s=limits.cpu_s,
            result_bytes=result_bytes,
            open_files=OPEN_FILES,
            grace_s=grace_s,
        )
        self._bounds = self._launch.limits(None)
        self._scratch: str | None = None
        self._max = max_processes or max(8, CORES)
        self._processes: set[Process] = set()
        self._free: list[Process] = []
        self._paces = Paces()
        self._waiting: deque[Request] = deque()
        self._patience: asyncio.TimerHandle | None = None
        self._freed = 0.0  # when a process was last done with a call
        self._is_closed = False

    def warm(self) -> None:
        """Start the first process now, so that the first call finds it ready."""
        if not self._processes and not self._is_closed:
            self._add_process()

    async def run(
        self,
        code: str,
        variables: Mapping[str, Value],
        *,
        script: str | None = None,
        name: str | None = None,
        timeout_s: float | None = None,
        limits: Limits | None = None,
        on_output: OnOutput = ignore,
    ) -> Ran:
        """Run code; `timeout_s` counts from when a process takes it. When this returns, the call is over."""
        if self._is_closed:
            raise InvariantViolation("the python host is closed")
        try:
            text = _variables.encode(variables)
        except (TypeError, ValueError, RecursionError) as problem:
            return Ran("value", message=f"the variables have no JSON form: {problem}")
        bounds = self._bounds if limits is None else self._launch.limits(limits)
        done = asyncio.get_running_loop().create_future()
        request = Request((code, script, name), text, timeout_s, bounds, time.monotonic(), done, on_output)
        self._place(request)
        try:
            return await request.done
        except asyncio.CancelledError:
            await self._abandon(request)
            raise

    async def close(self) -> None:
        """End every process; calls that still wait or run end as crashed."""
        self._is_closed = True
        closed = Ran("crashed", message="the python host was closed before the code finished")
        for process in list(self._processes):
            if process.request is None or not process.stop(process.request, closed):
                process.kill()
        while self._waiting:
            request = self._waiting.popleft()
            if not request.done.done():
                request.done.set_result(closed)
        if self._processes:
            await asyncio.wait([process.gone for process in self._processes])
        if self._scratch is not None:
            import shutil

            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)

    def _place(self, request: Request) -> None:
        while self._free:
            process = self._free.pop()
            if not process.is_ending:
                process.start(request)
                return
        if not self._waiting:
            busy = min(self._processes, key=_backlog, default=None)
            if busy is not None and busy.accepts(request):
                busy.start(request)
                self._be_patient()
                return
        self._waiting.append(request)
        self._grow()

    async def _abandon(self, request: Request) -> None:
        """Kill the process that runs a call nobody waits for any more, and see it dead."""
        for process in self._processes:
            if any(request is each for _, each, _ in process.calls):
                if process.stop(request, Ran("crashed", message="cancelled")):
                    await asyncio.shield(process.gone)
                return

    def _on_room(self, process: Process) -> None:
        """A process is ready, has ended a call, or has returned some."""
        self._freed = time.monotonic()
        self._take_returned(process)
        self._feed(process)

    def _take_returned(self, process: Process) -> None:
        if process.returned:
            self._waiting.extendleft(reversed(process.returned))
            process.returned.clear()

    def _feed(self, process: Process) -> None:
        """Hand over what waits, as far as the process takes it."""
        while self._waiting and not (process.is_ending or self._is_closed):
            request = self._waiting[0]
            if process.calls and not (request.done.done() or process.accepts(request)):
                break
            self._waiting.popleft()
            if not request.done.done():
                process.start(request)
        if len(process.calls) > 1:
            self._be_patient()
        elif not (process.calls or process.is_ending or process in self._free):
            self._free.append(process)

    def _on_gone(self, process: Process) -> None:
        self._processes.discard(process)
        if process in self._free:
            self._free.remove(process)
        self._take_returned(process)
        if not process.is_ready:
            self._fail_start(f"it ended as it started: {process.last_words.strip()[-500:]}")
        elif not self._waiting:
            self.warm()
        self._grow()

    def _grow(self) -> None:
        """Have enough processes for the calls that wait: the first at once, more when one waits for long."""
        self._drop_abandoned()
        if not self._waiting or len(self._processes) >= self._max:
            return
        if not self._processes:
            self._add_process()
        self._be_patient()

    def _be_patient(self) -> None:
        if self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(PATIENCE_S, self._on_impatience)

    def _on_impatience(self) -> None:
        self._patience = None
        self._drop_abandoned()
        for process in tuple(self._processes):
            if len(process.calls) > 1:
                self._relieve(process)
        for process in tuple(self._free):
            self._free.remove(process)
            self._feed(process)
        room = len(self._processes) < self._max  # it may have been full since the timer began
        if self._waiting and room and self._is_stuck(time.monotonic() - PATIENCE_S):
            self._add_process()
        self._grow()

    def _relieve(self, process: Process) -> None:
        """Take back what stands behind a call that is slower than it was."""
        process.catch_up()
        request, seconds = process.request, time.monotonic() - process.began
        if request is not None and seconds >= PATIENCE_S:
            self._paces.learn(request, seconds)
            process.take_back()
            self._take_returned(process)
        if len(process.calls) > 1:
            self._be_patient()

    def _is_stuck(self, before: float) -> bool:
        """Whether one more process would help: beyond one per core, only if none gets free meanwhile."""
        starting = sum(not process.is_ready for process in self._processes)
        if starting >= min(len(self._waiting), CORES):
            return False
        since = self._waiting[0].since if len(self._processes) < CORES else self._freed
        return since <= before

    def _drop_abandoned(self) -> None:
        while self._waiting and self._waiting[0].done.done():
            self._waiting.popleft()

    def _add_process(self) -> None:
        if self._scratch is None:
            self._make_scratch()
        try:
            self._processes.add(Process(self._launch, self._paces, self._on_room, self._on_gone))
        except OSError as problem:
            self._fail_start(f"cannot start {self._launch.python!r}: {problem}")

    def _make_scratch(self) -> None:
        """A folder that is home, place for temporary files, and the work folder if there is no other."""
        import tempfile

        self._scratch = tempfile.mkdtemp(prefix="noetl-python-")
        home = {"HOME": self._scratch, "TMPDIR": self._scratch}
        environment = {**ENVIRONMENT, **home, **self._launch.environment}
        folder = self._launch.folder or self._scratch
        self._launch = replace(self._launch, folder=folder, environment=environment)

    def _fail_start(self, why: str) -> None:
        """Tell the call that has waited longest; each failed start costs one call, so this ends."""
        self._drop_abandoned()
        if self._waiting:
            self._waiting.popleft().done.set_exception(
                BackendError(f"there is no process for python code: {why}")
            )


def _backlog(process: Process) -> float:
    return process.backlog_s
