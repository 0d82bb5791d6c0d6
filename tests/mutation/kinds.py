"""Where a source file can be broken, and how: every change replaces one span of text."""

import ast
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

KINDS = ("arithmetic", "bound", "condition", "order", "await")

_ORDERING = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
_SWAPS = {"min": "max", "max": "min", "asc": "desc", "desc": "asc"}
_TEXTS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
"""`+` joins these; `-` would only raise a TypeError."""
_TOLD = re.compile(r"(^|\.)_?(log|logger|telemetry|metrics)\.|\.(labels|inc|observe)\b|^(warnings|typer)\.")
"""Calls that only report something: logging, metrics, output."""
_TYPES = {"Protocol", "TypedDict", "NamedTuple"}


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes `start` to `end` become `text`. `first` to `line`: the lines of the statement up to the change.

    inside: whether it is inside a function; other code runs once, at import.
    """

    kind: str
    first: int
    line: int
    start: int
    end: int
    text: str
    inside: bool


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found: list[Change] = []
        self._lines = [0, *(at.end() for at in re.finditer(rb"\n", source))]
        self._first = 1
        self._depth = 0

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[end_line - 1] + end_column

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode()

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        line, inside = bisect(self._lines, start), self._depth > 0
        self.found.append(Change(kind, self._first, line, start, end, text, inside))

    def _between(self, kind: str, left: ast.expr, right: ast.expr, signs: tuple[str, str]) -> None:
        """Change the operator between two nodes; nothing if a comment there could contain the same operator."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self._text(start, end)
        if "#" not in gap and (at := gap.find(signs[0])) >= 0:
            self._add(kind, start + at, start + at + len(signs[0]), signs[1])

    def visit(self, node: ast.AST) -> None:
        if _left_out(node):
            return
        if isinstance(node, ast.stmt):
            self._first = node.lineno
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        self._depth += function
        self._expression(node)
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                self._swaps([each for each in value if isinstance(each, ast.Expr) and _awaits(each)])
        self.generic_visit(node)
        self._depth -= function

    def _expression(self, node: ast.AST) -> None:
        match node:
            case ast.If(test=test) | ast.IfExp(test=test):
                self._negate([test])
            case ast.comprehension(ifs=tests):
                self._negate(tests)
            case ast.BoolOp(op=op, values=[left, right, *_]):
                self._between("condition", left, right, ("and", "or") if isinstance(op, ast.And) else ("or", "and"))
            case ast.BinOp(left=left, right=right, op=op) | ast.AugAssign(target=left, value=right, op=op):
                if type(op) in _SIGNS and not (_is_text(left) or _is_text(right)):
                    self._between("arithmetic", left, right, _SIGNS[type(op)])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._add("arithmetic", self._span(node)[0], self._span(operand)[0], "")
            case ast.Compare():
                for operator, (left, right) in zip(node.ops, pairwise([node.left, *node.comparators]), strict=True):
                    if type(operator) in _ORDERING:
                        self._between("bound", left, right, _ORDERING[type(operator)])
                        self._off_by_one(left, right)
            case ast.Slice(lower=lower, upper=upper):
                self._off_by_one(lower, upper)
            case ast.Expr() if _awaits(node):
                self._add("await", *self._span(node), "pass")
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                self._call(node, name)

    def _swaps(self, awaited: list[ast.Expr]) -> None:
        for one, two in pairwise(awaited):
            (start, middle), (after, end) = self._span(one), self._span(two)
            if not self._text(middle, after).strip():
                self._first = one.lineno
                self._add(
                    "order", start, end, self._text(after, end) + self._text(middle, after) + self._text(start, middle)
                )

    def _negate(self, tests: list[ast.expr]) -> None:
        for start, end in map(self._span, tests):
            self._add("condition", start, end, f"(not ({self._text(start, end)}))")

    def _off_by_one(self, *limits: ast.expr | None) -> None:
        for limit in limits:
            if isinstance(limit, ast.Constant) and type(limit.value) is int:
                self._add("bound", *self._span(limit), str(limit.value + 1))

    def _call(self, node: ast.Call, name: str) -> None:
        end, method = self._span(node.func)[1], isinstance(node.func, ast.Attribute)
        if name in _SWAPS and (not method or name in {"asc", "desc"}):
            self._add("order", end - len(name), end, _SWAPS[name])
        if name == "where" and isinstance(node.func, ast.Attribute):
            self._where(node, node.func)
        if name == "range":
            self._off_by_one(*node.args)
        if name == "sorted" or (name == "sort" and method):
            self._reverse(node)

    def _where(self, node: ast.Call, func: ast.Attribute) -> None:
        spans = [self._span(each) for each in node.args]
        if len(spans) == 1:
            self._add("condition", self._span(func.value)[1], self._span(node)[1], "")
        for one, two in pairwise(spans):
            self._add("condition", one[0], two[0], "")
        if len(spans) > 1:
            self._add("condition", spans[-2][1], spans[-1][1], "")

    def _reverse(self, node: ast.Call) -> None:
        end = self._span(node)[1] - 1
        told = next((each.value for each in node.keywords if each.arg == "reverse"), None)
        if told is not None:
            self._add("order", *self._span(told), f"not ({self._text(*self._span(told))})")
        else:
            before = self._text(0, end).rstrip()[-1]
            self._add("order", end, end, {",": " ", "(": ""}.get(before, ", ") + "reverse=True")


def changes(source: str) -> Iterator[Change]:
    """Yield every possible change of this source, in the order of the text."""
    finder = _Finder(source.encode())
    finder.visit(ast.parse(source))
    yield from sorted(finder.found, key=lambda each: (each.start, each.end, each.kind, each.text))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, _TEXTS) or (isinstance(node, ast.Constant) and not isinstance(node.value, int | float))


def _left_out(node: ast.AST) -> bool:
    """Whether no test should notice a change: code for people or for the type checker only, and assertions."""
    match node:
        case ast.FunctionDef(name="__repr__") | ast.Assert():
            return True
        case ast.ClassDef(bases=bases):
            return any(ast.unparse(base).split("[")[0].split(".")[-1] in _TYPES for base in bases)
        case ast.If(test=test):
            return ast.unparse(test).endswith("TYPE_CHECKING")
        case ast.Call(func=func):
            return bool(_TOLD.search(ast.unparse(func)))
    return False


def _awaits(node: ast.Expr) -> bool:
    """Whether the statement is one awaited call with an effect; sleeping and reporting have none."""
    call = node.value.value if isinstance(node.value, ast.Await) else None
    return isinstance(call, ast.Call) and not _left_out(call) and not ast.unparse(call.func).endswith("sleep")
