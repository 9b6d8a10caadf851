"""Write the pages that follow from the code: the references of commands and names, the JSON Schema.

    python docs/generate.py

The tests fail while a page differs from what this would write.
"""

import inspect
import json
from pathlib import Path
from typing import Any

from typer.main import get_command

import shapband as sb
from shapband.app.cli.app import app
from shapband.app.config.config import Config

ROOT = Path(__file__).parent.parent
INTRODUCTION = """# Commands

`python -m shapband` is the same as `shapband`. An error is one line on standard error and the exit
code 1; a wrong call has the exit code 2, and an interrupted run 130. A [tour](runs.md) shows the
commands at work.

<!-- written by docs/generate.py from the help of the commands -->
"""
API = """# Names

Everything that `import shapband as sb` offers.

<!-- written by docs/generate.py from the public names -->
"""
CURRENT = ".. currentmodule:: shapband"
# Headings of the page of names, in their order; the base class decides.
KINDS: dict[str, type | None] = {
    "Functions": None,
    "Samplings": sb.Sampling,
    "Solvers": sb.Solver,
    "Indices": sb.Index,
    "Utilities": sb.Utility,
    "Sources": sb.Source,
    "Stopping rules": sb.StoppingRule,
    "Results and other classes": None,
    "Modules": None,
}


def pages() -> dict[Path, str]:
    """Everything that is generated, by file."""
    return {
        ROOT / "docs" / "api.md": names(),
        ROOT / "docs" / "cli.md": reference(),
        ROOT / "docs" / "shapband.schema.json": schema(),
        # The same beside the code, where `shapband init` finds it for editors.
        ROOT / "src" / "shapband" / "app" / "config" / "shapband.schema.json": schema(),
    }


def names() -> str:
    """The page of all public names, by kind."""
    found: dict[str, list[str]] = {title: [] for title in KINDS}
    for name in sb.__all__:
        found[kind_of(name)].append(name)
    parts = [API]
    for title, members in found.items():
        described = "\n".join(
            f".. {directive(name)}:: {'shapband.' * (title == 'Modules')}{name}" for name in members
        )
        parts.append(f"## {title}\n\n```{{eval-rst}}\n{CURRENT}\n\n{described}\n```\n")
    return "\n".join(parts)


def directive(name: str) -> str:
    """How Sphinx documents a name."""
    part = getattr(sb, name)
    if inspect.ismodule(part):
        return "automodule"
    return "autoclass" if inspect.isclass(part) else "autofunction"


def kind_of(name: str) -> str:
    """The heading under which a public name is listed."""
    part = getattr(sb, name)
    if inspect.ismodule(part):
        return "Modules"
    if not inspect.isclass(part):
        return "Functions"
    for title, kind in KINDS.items():
        if kind is not None and issubclass(part, kind):
            return title
    return "Results and other classes"


def schema() -> str:
    """The JSON Schema of a run's configuration."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **tidy(Config.model_json_schema()),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def tidy(part: Any) -> Any:
    """Leave out what TOML has no use for: null, and titles that repeat the key."""
    if isinstance(part, list):
        return [tidy(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {
        name: tidy(one)
        for name, one in part.items()
        if not (name == "title" and isinstance(one, str)) and (name, one) != ("default", None)
    }
    choices = [one for one in kept.get("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1:
        del kept["anyOf"]
        return {**choices[0], **kept}
    return {**kept, "anyOf": choices} if choices else kept


def reference() -> str:
    """The page of all commands."""
    program: Any = get_command(app)
    parts = [INTRODUCTION, section("shapband", program)]
    parts += [section(f"shapband {name}", one) for name, one in program.commands.items()]
    return "\n".join(parts)


def section(title: str, command: Any) -> str:
    """What there is to say of one command."""
    usage = [title, *(usage_of(one) for one in command.params if one.required or is_argument(one))]
    rows = [f"| `{escaped(signature(one))}` | {explanation(one)} |" for one in command.params]
    return "\n".join(
        [
            f"## {title}",
            "",
            (command.help or "").strip(),
            "",
            *(["```text", " ".join(usage), "```", ""] if len(usage) > 1 else []),
            "| | |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def usage_of(parameter: Any) -> str:
    text = signature(parameter)
    return text if parameter.required else f"[{text}]"


def signature(parameter: Any) -> str:
    """How a parameter is written, such as `--out RUN`."""
    if is_argument(parameter):
        return str(parameter.metavar)
    name = parameter.opts[0]
    return name if parameter.is_flag else f"{name} {parameter.metavar or 'TEXT'}"


def escaped(text: str) -> str:
    """Keep a bar from ending the cell of a table."""
    return text.replace("|", r"\|")


def explanation(parameter: Any) -> str:
    text = str(parameter.help)
    if parameter.required or parameter.default in (None, False):
        return text
    return f"{text} By default `{parameter.default}`."


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
