"""Tables in LaTeX: long tables with the rules of booktabs, and every cell escaped."""

from __future__ import annotations

from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{character: f"\\{character}" for character in "&%$#_"},
    # Characters that pdfLaTeX has in mathematics only.
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": r"$-$",
    "∅": r"$\emptyset$",
    "²": r"$^2$",
    "⁴": r"$^4$",
    "⁻": r"$^-$",
    "Γ": r"$\Gamma$",
    "Σ": r"$\Sigma$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "φ": r"$\varphi$",
}
_HEAD = r"% Needs \usepackage{booktabs,longtable,array}; \usepackage[T1]{fontenc} for pdfLaTeX."


def escape(text: str) -> str:
    r"""Write a string so that LaTeX prints it.

    Examples
    --------
    >>> escape("50 % of v_1 ± 2")
    '50 \\% of v\\_1 $\\pm$ 2'
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def document(tables: Sequence[str], changed: str) -> str:
    """Join tables into a file that can be read with input; its first line says what it needs."""
    notice = [f"% CHANGED: {changed}. Not the paper's settings."] if changed else []
    return "\n\n".join(["\n".join([_HEAD, *notice]), *tables]) + "\n"


def long_table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float] = ()
) -> str:
    r"""Make a table that may break across pages.

    Parameters
    ----------
    caption : what it shows
    header : titles of the columns
    rows : cells
    widths : widths of the columns as shares of the text width, for cells that break across lines;
        by default every cell is one line
    """
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in widths
    ) or "l" * len(header)
    titles = " & ".join(map(escape, header)) + r" \\"
    lines = [
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{escape(caption)}}} \\",
        *(r"\toprule", titles, r"\midrule", r"\endfirsthead"),
        *(r"\toprule", titles, r"\midrule", r"\endhead"),
        *(r"\bottomrule", r"\endfoot"),
        *(" & ".join(map(escape, row)) + r" \\" for row in rows),
        r"\end{longtable}",
    ]
    return "\n".join(lines)
