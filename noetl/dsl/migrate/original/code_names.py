"""What can be told of python code from its text: names it reads from nowhere, its answer, its modules.

Pure analysis with `ast`; nothing is run.
"""

import ast
import builtins
import io
import re
import tokenize
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import accumulate

# Modules that code of the original could name without importing them.
THERE = (
    "json", "os", "sys", "re", "time", "math", "random", "uuid", "base64", "hashlib", "datetime", "asyncio",
    "logging", "collections", "itertools", "functools", "urllib", "string", "copy", "decimal", "traceback",
)  # fmt: skip
CLASS_OF = {
    "datetime": frozenset({"now", "utcnow", "fromisoformat", "fromtimestamp", "strptime", "today", "combine"})
}
TEMPLATE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*\w|[A-Za-z_])\s*\}\}")
PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__"}


@dataclass(frozen=True, slots=True)
class Code:
    """Code that parses."""

    text: str
    tree: ast.Module

    @classmethod
    def read(cls, text: str) -> "Code | None":
        """The code of a text; none when it does not parse."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return cls(text, ast.parse(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None

    def lead(self, lines: list[str]) -> str:
        """The text with lines before it; what must come first stays first."""
        own = self.text.split("\n")
        after = max((node.end_lineno or 0 for node in self._first()), default=0)
        return "\n".join([*own[:after], *lines, *own[after:]])

    def _first(self) -> Iterator[ast.stmt]:
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                yield node

    def after(self, lines: list[str]) -> "Code":
        """The same code with lines before it."""
        return Code.read(self.lead(lines)) or self

    @property
    def bound(self) -> frozenset[str]:
        """Names that the code binds itself, wherever."""
        names: set[str] = set()
        for node in ast.walk(self.tree):
            match node:
                case ast.Name(ctx=ast.Store() | ast.Del()):
                    names.add(node.id)
                case ast.Import() | ast.ImportFrom():
                    names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    names.add(node.name)
                case ast.arg():
                    names.add(node.arg)
                case ast.ExceptHandler(name=str() as name):
                    names.add(name)
                case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                    names.add(name)
                case _:
                    pass
        return frozenset(names)

    @property
    def read_names(self) -> frozenset[str]:
        """Names that the code reads."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return frozenset(node.id for node in nodes if isinstance(node.ctx, ast.Load))

    @property
    def free(self) -> frozenset[str]:
        """Names that the code reads before, or without, binding them at its top level."""
        early = frozenset(self._read_first())
        return (self.read_names - self.bound - BUILTINS) | (early - BUILTINS)

    def _read_first(self) -> Iterator[str]:
        """Names that the top level reads before any of its lines binds them."""
        bound = {name: place for place, name in sorted(_bindings(self.tree), reverse=True)}
        inner = {name for node in ast.walk(self.tree) for name in _own_names(node)}
        for node in _top_level(self.tree):
            match node:
                case ast.Name(ctx=ast.Load(), id=name) if name in bound.keys() - inner:
                    yield from [name] if (node.lineno, node.col_offset) < bound[name] else []
                case _:
                    pass

    @property
    def parameters(self) -> frozenset[str]:
        """What `main` takes, when there is one."""
        mains = [node for node in self.tree.body if _is_main(node)]
        return frozenset(arg.arg for node in mains for arg in ast.walk(node) if isinstance(arg, ast.arg))

    @property
    def has_main(self) -> bool:
        """Whether the code defines `main`."""
        return any(map(_is_main, self.tree.body))

    @property
    def returns(self) -> bool:
        """Whether a `return` stands outside of every function."""
        return any(isinstance(node, ast.Return) for node in _top_level(self.tree))

    @property
    def words(self) -> frozenset[str]:
        """Every text that the code spells out."""
        nodes = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return frozenset(value for value in nodes if isinstance(value, str))

    def keys_of(self, name: str) -> frozenset[str]:
        """The keys that the code can read of a mapping: every text of it where they are computed."""
        reads = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == name]
        keys = [key for node in ast.walk(self.tree) if (key := _key(node, name)) is not None]
        return frozenset(keys) if len(keys) == len(reads) else self.words

    def missing_modules(self) -> list[tuple[str, str]]:
        """Modules that the code reads without importing them, each with its import line."""
        return [(name, self._import(name)) for name in THERE if name in self.free and self._members(name)]

    def _members(self, name: str) -> set[str]:
        """The members of a name that the code reads."""
        reads = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        return {node.attr for node in reads if isinstance(node.value, ast.Name) and node.value.id == name}

    def _import(self, name: str) -> str:
        if self._members(name) & CLASS_OF.get(name, frozenset()):
            return f"from {name} import {name}"
        if name == "urllib":
            return "import urllib.parse, urllib.request"
        return f"import {name}"

    @property
    def answer_keys(self) -> frozenset[str] | None:
        """The keys of the mapping that the code answers with; none when that cannot be told."""
        answers = [*self._answers()]
        keys: set[str] = set()
        for answer in answers:
            names = self._keys(answer)
            if names is None:
                return None
            keys |= names
        return frozenset(keys) if answers else None

    def _answers(self) -> Iterator[ast.expr]:
        for node in ast.walk(self.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id="result")]) if not self.has_main:
                    yield node.value
                case ast.FunctionDef(name="main") | ast.AsyncFunctionDef(name="main") | ast.Module():
                    inner = (each for each in _top_level(node) if isinstance(each, ast.Return))
                    yield from (each.value for each in inner if each.value is not None)
                case _:
                    pass

    def _keys(self, answer: ast.expr, depth: int = 3) -> frozenset[str] | None:
        if isinstance(answer, ast.Dict):
            names = [key.value for key in answer.keys if isinstance(key, ast.Constant)]
            return frozenset(name for name in names if isinstance(name, str))
        if isinstance(answer, ast.Name) and depth:
            values = [
                node.value
                for node in ast.walk(self.tree)
                if isinstance(node, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == answer.id for target in node.targets)
            ]
            key_sets = [self._keys(value, depth - 1) for value in values]
            if key_sets and None not in key_sets:
                return frozenset().union(*(names for names in key_sets if names is not None))
        return None


def _key(node: ast.AST, name: str) -> str | None:
    """The key that a node reads of a mapping, as `name["key"]` or `name.get("key")`."""
    match node:
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as key)) if owner == name:
            return key
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="get"),
            args=[ast.Constant(value=str() as key), *_],
        ) if owner == name:
            return key
        case _:
            return None


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "main"


def _bindings(tree: ast.Module) -> Iterator[tuple[tuple[int, int], str]]:
    """Where the top level binds a name: at the end of an assignment, whose value is read first."""
    for node in _top_level(tree):
        assigns = isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)
        if assigns and isinstance(node, ast.stmt | ast.expr):
            end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
            yield from ((end, name) for name in _stored(node))
        elif isinstance(node, ast.For | ast.With | ast.Import | ast.ImportFrom):
            yield from (((node.lineno, node.col_offset), name) for name in Code("", _alone(node)).bound)


def _alone(node: ast.stmt) -> ast.Module:
    """A statement without what it holds."""
    if isinstance(node, ast.For):
        return ast.Module([ast.For(node.target, node.iter, [], [])], [])
    return ast.Module([ast.With(node.items, [])] if isinstance(node, ast.With) else [node], [])


def _stored(node: ast.AST) -> Iterator[str]:
    nodes = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    yield from (each.id for each in nodes if isinstance(each.ctx, ast.Store))


def _own_names(node: ast.AST) -> Iterator[str]:
    """Names of a comprehension or lambda, which are nobody else's."""
    if isinstance(node, ast.comprehension):
        yield from _stored(node.target)
    elif isinstance(node, ast.Lambda):
        yield from (arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg))


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """What stands under a node outside of functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        yield child
        yield from _top_level(child)


def indented_main(text: str, parameters: list[str]) -> str:
    """Code whose top level returns, as the body of `main`."""
    inside = _lines_in_texts(text)
    body = [
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(text.rstrip("\n").split("\n"), 1)
    ]
    code = Code.read(text)
    if code is not None and "result" in code.bound and not isinstance(code.tree.body[-1], ast.Return):
        body.append("    return result")
    names = [name for name in parameters if name.isidentifier()]
    return "\n".join([f"def main({', '.join(names)}):", *body, ""])


def without_templates(text: str, roots: Container[str]) -> tuple[str, dict[str, str]]:
    """Code whose templates of known names are names, and the path that each stands for."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError):
        return text, {}
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    read: dict[str, str] = {}
    for first, last, new in reversed([*_templates(tokens, roots, read)]):
        begin, end = starts[first.start[0] - 1] + first.start[1], starts[last.end[0] - 1] + last.end[1]
        text = text[:begin] + new + text[end:]
    return text, read


Token = tokenize.TokenInfo


def _templates(
    tokens: list[Token], roots: Container[str], read: dict[str, str]
) -> Iterator[tuple[Token, Token, str]]:
    """Every template of the code with what takes its place."""
    for index, token in enumerate(tokens):
        if token.type == tokenize.STRING and token.string[:1] in "'\"":
            matches = [match for match in TEMPLATE.finditer(token.string) if _root(match[1]) in roots]
            names = {_name(match[1], read): match[0] for match in matches}
            literal = token.string
            for name, template in names.items():
                literal = literal.replace(template, f"<{name}>")
            if names:
                yield token, token, literal + "".join(f'.replace("<{name}>", str({name}))' for name in names)
        elif [each.string for each in tokens[index : index + 2]] == ["{", "{"]:
            inside = tokens[index + 2 :]
            end = next((i for i, each in enumerate(inside) if each.string == "}"), 0)
            path = "".join(each.string for each in inside[:end])
            is_known = PATH.fullmatch(path) and _root(path) in roots
            if end and is_known and [each.string for each in inside[end : end + 2]] == ["}", "}"]:
                yield token, inside[end + 1], _name(path, read)


def _root(path: str) -> str:
    return path.partition(".")[0]


def _name(path: str, read: dict[str, str]) -> str:
    name = path.replace(".", "_")
    read[name] = path
    return name


def _lines_in_texts(text: str) -> set[int]:
    """Lines that begin inside a text of several lines, which must not move."""
    numbers: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.end[0] > token.start[0] and token.type not in (tokenize.NEWLINE, tokenize.NL):
                numbers |= set(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return numbers
    return numbers
