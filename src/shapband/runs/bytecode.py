"""Names that a function reads and changes, found in its compiled code.

A list or dictionary that a function itself changes is a cache or a log, not a setting. Only direct
changes are found: a method such as `append` is called, or an item or an attribute is assigned.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType

_VARIABLES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_ASSIGNMENTS = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF"}
_ITEMS = {"STORE_SUBSCR", "DELETE_SUBSCR"}
# Methods that change lists, dictionaries, sets and models.
_CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"),
    *("update", "setdefault", "popitem", "add", "discard", "subtract", "move_to_end"),
    *("appendleft", "popleft", "extendleft"),
    *("fit", "partial_fit", "fit_transform", "fit_predict"),
}


@dataclass(frozen=True)
class Names:
    """Names in the code of a function, including the functions inside it.

    Attributes
    ----------
    variables : global variables that are read
    attributes : attributes that are read, of any object
    changed : global variables, variables of enclosing functions and attributes that are changed

    Examples
    --------
    >>> names = Names.of(compile("seen.append(settings.rate)", "example", "exec"))
    >>> sorted(names.variables), sorted(names.changed)
    (['seen', 'settings'], ['seen'])
    """

    variables: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    @staticmethod
    def of(code: CodeType) -> Names:
        """Find the names in a code object."""
        names = Names()
        for part in _parts(code):
            names._add(list(dis.get_instructions(part)))
        return names

    def _add(self, steps: Sequence[dis.Instruction]) -> None:
        for at, step in enumerate(steps):
            name = step.argval
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                self.variables.add(name)
            elif step.opname in _ATTRIBUTES:
                self.attributes.add(name)
                if name in _CHANGING:
                    self._change(steps, at, 0)
            elif step.opname in _ASSIGNMENTS:
                self.changed.add(name)
            elif step.opname in _ITEMS:
                self._change(steps, at, 1)
            elif step.opname == "STORE_ATTR" and self._change_of_attribute(steps, at):
                self.changed.add(name)
            elif _begins_in_place(steps, at):
                self._change(steps, at, 0 if step.arg == 1 else 1)

    def _change(self, steps: Sequence[dis.Instruction], at: int, below: int) -> None:
        """Note the variable or attribute that is changed, if it is one."""
        source = _pushed_by(steps, at, below)
        if source is not None and source.opname in _VARIABLES | _ATTRIBUTES:
            self.changed.add(source.argval)

    def _change_of_attribute(self, steps: Sequence[dis.Instruction], at: int) -> bool:
        """Note the variable whose attribute is assigned; an attribute of `self` is not noted."""
        source = _pushed_by(steps, at, 0)
        if source is not None and source.opname == "SWAP":
            source = next((one for one in reversed(steps[:at]) if one.opname in _VARIABLES), None)
        if source is None or source.opname not in _VARIABLES:
            return False
        self.changed.add(source.argval)
        return True


def _begins_in_place(steps: Sequence[dis.Instruction], at: int) -> bool:
    """Whether an attribute or an item is about to be read and assigned, as in ``state.n += 1``.

    The object is copied on the stack for an attribute, the object and the key for an item.
    """
    if steps[at].opname != "COPY" or at + 1 == len(steps):
        return False
    after = steps[at + 1]
    if steps[at].arg == 1:
        return after.opname == "LOAD_ATTR"
    return steps[at].arg == 2 and after.opname == "COPY" and after.arg == 2


def _parts(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions and classes inside it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _parts(part)


def _pushed_by(steps: Sequence[dis.Instruction], at: int, below: int) -> dis.Instruction | None:
    """The instruction that put a value on the stack, `below` values under its top before `at`.

    None if it is not in the same straight piece of code.
    """
    height = 0  # of the top of the stack after an instruction, relative to the one before `at`
    step: dis.Instruction
    for step in reversed(steps[:at]):
        if height == -below:
            return step
        if step.opname == "SWAP" or step.is_jump_target:
            return None
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            return None
        height -= dis.stack_effect(step.opcode, step.arg, jump=False)
    return None
