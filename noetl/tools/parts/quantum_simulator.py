"""A small state-vector simulator of an OpenQASM 3 subset: registers, gates, measurement at the end."""

import ast
import cmath
import math
import operator
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from noetl.ports.envelope import Failed

QUBITS_MAX = 12
OPERATIONS_MAX = 10_000
TEXT_MAX = 1_000_000  # characters; so many gates take fewer

Matrix = tuple[complex, complex, complex, complex]

_ROOT = 1 / math.sqrt(2)
_PLAIN: dict[str, Matrix] = {
    "id": (1, 0, 0, 1),
    "x": (0, 1, 1, 0),
    "y": (0, -1j, 1j, 0),
    "z": (1, 0, 0, -1),
    "h": (_ROOT, _ROOT, _ROOT, -_ROOT),
    "s": (1, 0, 0, 1j),
    "sdg": (1, 0, 0, -1j),
    "t": (1, 0, 0, cmath.exp(1j * math.pi / 4)),
    "tdg": (1, 0, 0, cmath.exp(-1j * math.pi / 4)),
    "sx": ((1 + 1j) / 2, (1 - 1j) / 2, (1 - 1j) / 2, (1 + 1j) / 2),
}


def _any(theta: float, phi: float, lam: float) -> Matrix:
    cos, sin = math.cos(theta / 2), math.sin(theta / 2)
    return (cos, -cmath.exp(1j * lam) * sin, cmath.exp(1j * phi) * sin, cmath.exp(1j * (phi + lam)) * cos)


_TURNING: dict[str, tuple[int, Callable[..., Matrix]]] = {
    "rx": (1, lambda a: (math.cos(a / 2), -1j * math.sin(a / 2), -1j * math.sin(a / 2), math.cos(a / 2))),
    "ry": (1, lambda a: (math.cos(a / 2), -math.sin(a / 2), math.sin(a / 2), math.cos(a / 2))),
    "rz": (1, lambda a: (cmath.exp(-1j * a / 2), 0, 0, cmath.exp(1j * a / 2))),
    **dict.fromkeys(("p", "phase"), (1, lambda a: (1, 0, 0, cmath.exp(1j * a)))),
    **dict.fromkeys(("u", "U"), (3, _any)),
}
# Gates with controls: how many, and which gate they control.
_CONTROLLED = {
    "cx": (1, "x"), "CX": (1, "x"), "cy": (1, "y"), "cz": (1, "z"), "ch": (1, "h"), "ccx": (2, "x"),
    "crx": (1, "rx"), "cry": (1, "ry"), "crz": (1, "rz"), "cp": (1, "p"), "cphase": (1, "p"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate on one target qubit, acting where every control is 1."""

    matrix: Matrix
    target: int
    controls: tuple[int, ...] = ()


@dataclass(slots=True)
class Circuit:
    """A circuit: its qubits, its gates, and which qubit each classical bit shows."""

    qubits: int = 0
    bits: int = 0
    gates: list[Gate] = field(default_factory=list)
    measured: dict[int, int] = field(default_factory=dict)  # bit -> qubit
    quantum: dict[str, range] = field(default_factory=dict)
    classical: dict[str, range] = field(default_factory=dict)


# ---- reading --------------------------------------------------------------------------------------------


def parse(text: str) -> Circuit:
    """The circuit of a text; Failed (kind `circuit`) names the statement that is not understood."""
    if len(text) > TEXT_MAX:
        raise Failed("circuit", f"the circuit has {len(text)} characters, more than {TEXT_MAX}")
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    circuit = Circuit()
    for statement in filter(None, (" ".join(part.split()) for part in plain.split(";"))):
        _statement(circuit, statement)
        if len(circuit.gates) > OPERATIONS_MAX:
            raise _bad(statement, f"the circuit has more than {OPERATIONS_MAX} gates")
    if circuit.qubits == 0:
        raise Failed("circuit", "the circuit has no qubits; declare some, as in: qubit[2] q;")
    return circuit


def _bad(statement: str, why: str) -> Failed:
    return Failed("circuit", f"{statement[:80]!r}: {why}")


def _statement(circuit: Circuit, statement: str) -> None:
    if re.match(r"OPENQASM 3(\.\d+)?$|include |barrier\b", statement):
        return
    if declared := re.fullmatch(r"(qubit|bit)(?: ?\[(\d+)\])? (\w+)", statement):
        _declare(circuit, declared.group(1), int(declared.group(2) or 1), declared.group(3), statement)
    elif measurement := re.fullmatch(r"(\S+) ?= ?measure (\S+)|measure (\S+) ?-> ?(\S+)", statement):
        bits, qubits = (
            (measurement.group(1), measurement.group(2))
            if measurement.group(1)
            else (measurement.group(4), measurement.group(3))
        )
        _measure(circuit, bits, qubits, statement)
    elif applied := re.fullmatch(r"(\w+) ?(?:\((.*)\))? (.+)", statement):
        _apply(circuit, applied.group(1), applied.group(2), applied.group(3), statement)
    else:
        raise _bad(statement, "not understood")


def _declare(circuit: Circuit, kind: str, size: int, name: str, statement: str) -> None:
    if kind == "bit":
        circuit.classical[name] = range(circuit.bits, circuit.bits + size)
        circuit.bits += size
        return
    circuit.quantum[name] = range(circuit.qubits, circuit.qubits + size)
    circuit.qubits += size
    if circuit.qubits > QUBITS_MAX:
        raise _bad(statement, f"the local backend has {QUBITS_MAX} qubits")


def _register(registers: dict[str, range], text: str, statement: str) -> list[int]:
    match = re.fullmatch(r"(\w+)(?: ?\[(\d+)\])?", text.strip())
    if not match or match.group(1) not in registers:
        raise _bad(statement, f"there is no register {text.strip()!r}")
    places = registers[match.group(1)]
    if match.group(2) is None:
        return list(places)
    if int(match.group(2)) >= len(places):
        raise _bad(statement, f"{text.strip()!r} is out of range")
    return [places[int(match.group(2))]]


def _measure(circuit: Circuit, bits: str, qubits: str, statement: str) -> None:
    targets = _register(circuit.classical, bits, statement)
    sources = _register(circuit.quantum, qubits, statement)
    if len(targets) != len(sources):
        raise _bad(statement, f"{len(sources)} qubits do not fit {len(targets)} bits")
    circuit.measured |= dict(zip(targets, sources, strict=True))


def _apply(circuit: Circuit, name: str, angles: str | None, operands: str, statement: str) -> None:
    if circuit.measured:
        raise _bad(statement, "gates after a measurement are not supported")
    registers = [_register(circuit.quantum, text, statement) for text in operands.split(",")]
    values = [_angle(text, statement) for text in (angles or "").split(",") if text.strip()]
    if name == "swap":
        for first, second in _broadcast(registers, 2, statement):
            pairs = ((first, second), (second, first), (first, second))
            circuit.gates += [Gate(_PLAIN["x"], target, (control,)) for control, target in pairs]
        return
    controls, inner = _CONTROLLED.get(name, (0, name))
    matrix = _matrix(inner, values, statement)
    for *control_bits, target in _broadcast(registers, controls + 1, statement):
        circuit.gates.append(Gate(matrix, target, tuple(control_bits)))


def _broadcast(registers: list[list[int]], count: int, statement: str) -> list[tuple[int, ...]]:
    """A gate on whole registers acts on their qubits one by one."""
    if len(registers) != count:
        raise _bad(statement, f"the gate takes {count} qubits, not {len(registers)}")
    length = max(map(len, registers))
    if any(len(register) not in (1, length) for register in registers):
        raise _bad(statement, "the registers have different sizes")
    rows = [tuple(register[index % len(register)] for register in registers) for index in range(length)]
    if any(len(set(row)) != count for row in rows):
        raise _bad(statement, "one qubit is named twice")
    return rows


def _matrix(name: str, values: list[float], statement: str) -> Matrix:
    if name in _PLAIN and not values:
        return _PLAIN[name]
    if name in _TURNING and len(values) == _TURNING[name][0]:
        return _TURNING[name][1](*values)
    gates = ", ".join([*_PLAIN, *_TURNING, *_CONTROLLED, "swap"])
    raise _bad(statement, f"there is no gate {name!r} with {len(values)} angles; known: {gates}")


_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CONSTANTS = {"pi": math.pi, "π": math.pi, "tau": math.tau, "euler": math.e}


def _angle(text: str, statement: str) -> float:
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        raise _bad(statement, f"{text.strip()!r} is not an angle") from None


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.BinOp(op=sign, left=left, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left), _value(right))
    raise ValueError


# ---- running --------------------------------------------------------------------------------------------


def counts(circuit: Circuit, shots: int, seed: int) -> dict[str, int]:
    """How often each outcome is measured; the first bit of a register is the last character."""
    import random

    measured = circuit.measured or {place: place for place in range(circuit.qubits)}
    width = max(circuit.bits if circuit.measured else circuit.qubits, 1)
    chances: dict[str, float] = {}
    for index, amplitude in enumerate(_final(circuit)):
        weight = abs(amplitude) ** 2
        if weight > 1e-12:
            ones = {bit for bit, qubit in measured.items() if index >> qubit & 1}
            outcome = "".join("1" if bit in ones else "0" for bit in reversed(range(width)))
            chances[outcome] = chances.get(outcome, 0.0) + weight
    samples = Counter(random.Random(seed).choices(list(chances), weights=list(chances.values()), k=shots))
    return dict(sorted(samples.items()))


def _final(circuit: Circuit) -> list[complex]:
    """The state after every gate, from all zeros."""
    state: list[complex] = [0j] * (1 << circuit.qubits)
    state[0] = 1 + 0j
    for gate in circuit.gates:
        a, b, c, d = gate.matrix
        bit, mask = 1 << gate.target, sum(1 << control for control in gate.controls)
        for index in range(len(state)):
            if not index & bit and index & mask == mask:
                low, high = state[index], state[index | bit]
                state[index], state[index | bit] = a * low + b * high, c * low + d * high
    return state
