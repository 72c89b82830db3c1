"""How a run ended, for a person: the tally, the task that failed and its input, what to do next."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from noetl.cli.options import server_flag
from noetl.cli.running.progress import LoopProgress
from noetl.cli.terminal import Paint, Tone, counted
from noetl.core.program.program import Program
from noetl.core.reading import explain_text
from noetl.errors import PlaybookError
from noetl.json_value import Json
from noetl.ports.answers import ExecutionAnswer, Failure
from noetl.ports.store import PlaybookText

TONES: dict[str, Tone] = {"completed": "good", "paused": "warning", "interrupted": "warning"}
ENDED = ("completed", "failed", "cancelled")
INPUT_CHARS = 600
FAILURES_MAX = 10
PLAIN = Paint(on=False)


def compile_entry(entry: PlaybookText) -> Program:
    """A playbook that was accepted once, ready to be asked; raises PlaybookError when it cannot be read."""
    from noetl.core.program.program import compile_program
    from noetl.dsl.load import load, load_accepted
    from noetl.wiring.tool_kinds import kinds

    playbook = load_accepted(entry.text, kinds=kinds())
    if playbook is None:
        raise PlaybookError(load(entry.text, kinds=kinds()).diagnostics)
    return compile_program(playbook, kinds(), entry.hash)


def tally_lines(result: ExecutionAnswer, paint: Paint) -> list[str]:
    """One line that says how it went, one for each failure that an arc took."""
    failed = result["counts"].get("failed_iterations", 0)
    tone = TONES.get(result["status"], "error")
    word = "in" if result["status"] in ENDED else "after"
    took = duration(result["duration_ms"])
    head = f"{paint(result['status'], tone)} {word} {took}: {tally(result['counts'], paint)}"
    lines = [head, *_failure_lines(result["failures"], result.get("failures_left_out", 0), paint)]
    if failed and result["status"] == "completed":
        retry_command = f"noetl execution retry {result['execution_id']}{server_flag()}"
        lines.append(
            f"  {paint('=', 'info')} the failed {'one' if failed == 1 else 'ones'} alone: {retry_command}"
        )
    return lines


def tally(counts: Mapping[str, int], paint: Paint = PLAIN) -> str:
    """How much there was of each; of the iterations also how many their loop went on without."""
    failed = counts.get("failed_iterations", 0)
    parts = [counted(counts["steps"], "step"), counted(counts["tasks"], "task")]
    if counts["iterations"]:
        of_these = f" ({paint(f'{number(failed)} failed', 'warning')})" if failed else ""
        parts.append(counted(counts["iterations"], "iteration") + of_these)
    elif failed:  # of an execution that this one goes on from
        parts.append(f"{paint(counted(failed, 'failed iteration'), 'warning')} kept")
    return ", ".join([*parts, counted(counts["events"], "event")])


def failure_fate(failure: Failure) -> str:
    """What became of a failure that an arc took."""
    if failure.get("answered"):
        return f"answered by the arc to {failure['taken_by']}"
    return f"taken by the arc to {failure['taken_by']}, which does not ask about it"


def _failure_lines(failures: list[Failure], left_out: int, paint: Paint) -> list[str]:
    lines = []
    for item in failures[:FAILURES_MAX]:
        mark = paint("failed", "warning" if item.get("answered") else "error")
        message = (item["error"] or {}).get("message", "no error was given")
        lines.append(f"  {mark}  {item['step']}, {failure_fate(item)}: {message}")
    if more := max(len(failures) - FAILURES_MAX, 0) + left_out:
        lines.append(f"  … and {counted(more, 'more failure')}")
    return lines


def error_lines(error: Mapping[str, Json], execution_id: str, paint: Paint) -> list[str]:
    """Where it failed: step, task, input, what the error says, and the commands that go on from there."""
    names = {"step": "step", "task": "task", "iteration": "iteration", "attempt": "attempt"}
    place = [f"{name} {error[key]}" for key, name in names.items() if error.get(key) is not None]
    lines = [f"{paint('error', 'error')}[{error['kind']}]: {error['message']}"]
    if place:
        lines.append(f"  in     {', '.join(place)}")
    lines += detail_lines(error, "  ")
    step, server = error.get("step"), server_flag()
    asked = f" --step {step}" if step else ""
    why = f"noetl execution why {execution_id}{asked}{server}"
    return lines + _tried([why, *ways_on(error, execution_id)], paint)


def ways_on(error: Mapping[str, Json], execution_id: str, flawed: Sequence[str] = ()) -> list[str]:
    """The commands that go on from a failure; `flawed`: the loops that went on without some iterations."""
    step, server = error.get("step"), server_flag()
    retry = f"noetl execution retry {execution_id}{server}"
    if not step or error["kind"] == "cancelled":
        return [retry]
    fixed = f"noetl execution rerun {execution_id} --from {step} --playbook FILE{server}"
    loops = [
        f"noetl execution retry {execution_id} --step {name}{server}  # its failed iterations too"
        for name in flawed
    ]
    return [*loops, retry, f"{fixed}  # the playbook, corrected"]


def next_lines(
    result: ExecutionAnswer, paint: Paint = PLAIN, flawed: Sequence[str] | None = None
) -> list[str]:
    """What can be done next with an execution that failed or is under way; `flawed`: loops, where known."""
    execution_id, status, server = result["execution_id"], result["status"], server_flag()
    if status == "failed" and result["error"] is not None:
        ways = ways_on(result["error"], execution_id, flawed or ())
        if flawed is None and result["counts"]["failed_iterations"]:
            ways.insert(0, f"noetl execution why {execution_id}{server}  # which iterations failed, and why")
        return _tried(ways, paint)
    if status != "running":
        return []
    follow = f"noetl execution logs --follow {execution_id}{server}"
    return _tried([follow, f"noetl execution cancel {execution_id}{server}"], paint)


def _tried(commands: list[str], paint: Paint) -> list[str]:
    first, *more = commands
    return [f"  {paint('=', 'info')} try: {first}", *(f"         {command}" for command in more)]


def flawed_lines(flawed: Mapping[str, LoopProgress], result: ExecutionAnswer, paint: Paint) -> list[str]:
    """Why iterations failed that their loop went on without, and how those alone are tried again."""
    from noetl.cli.formats.text import printable

    lines: list[str] = []
    for name, loop in flawed.items():
        mark, some = paint("failed", "warning"), f"{number(loop.failed)} of {number(loop.total)} iterations"
        lines.append(f"  {mark}  {name}, {some}, the first: {printable(loop.error or 'before this log')}")
        if result["status"] == "failed":  # where it completed, a retry is of these alone
            retry = f"noetl execution retry {result['execution_id']} --step {name}{server_flag()}"
            lines.append(f"  {paint('=', 'info')} from these on: {retry}")
    return lines


def detail_lines(
    error: Mapping[str, object] | None, indent: str, printed: list[tuple[str, list[str]]] | None = None
) -> list[str]:
    """What an error says beside its message, in a column of names and one of lines; nothing of it twice."""
    from noetl.cli.formats.text import printable as safe

    printed = [] if printed is None else printed
    new = [detail for detail in explain_text.details(error) if detail not in printed]
    printed += new
    lines: list[str] = []
    for name, text in new:
        printable_lines = [safe(line if name != "input" else _cut(line)) for line in text]
        lines += [
            f"{indent}{name if not at else '':<6} {line}".rstrip() for at, line in enumerate(printable_lines)
        ]
    return lines


def _cut(text: str, limit: int = INPUT_CHARS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def stuck_lines(result: ExecutionAnswer, paint: Paint) -> list[str]:
    execution_id = result["execution_id"]
    return [
        f"{paint('error', 'error')}[stuck]: {result['stuck']['message']}",
        f"  {paint('=', 'info')} try: noetl execution why {execution_id}{server_flag()}",
        f"         noetl execution release {execution_id}{server_flag()}",
    ]


def short_json(value: object, limit: int = INPUT_CHARS) -> str:
    """A value as one line of JSON, cut where it is long."""
    return _cut(msgspec.json.encode(value).decode(), limit)


def duration(ms: float) -> str:
    """A span of time as a person reads it."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def late_words(late_at: str | None, ended_at: str | None) -> str:
    """That something has taken longer than its playbook expects, and by how much; else nothing."""
    if late_at is None:
        return ""
    end = datetime.now(UTC) if ended_at is None else datetime.fromisoformat(ended_at)
    over = (end - datetime.fromisoformat(late_at)).total_seconds()
    return f"late by {duration(over * 1000)}" if over > 0 else ""


def number(value: int) -> str:
    return f"{value:,}"
