"""The version, the year and the tested versions of Python agree wherever they are written."""

import re
import tomllib

import yaml

import shapband as sb
from tests.printed import ROOT, blocks

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
INSTALLATION = ROOT / "docs" / "installation.md"


def test_the_version_is_the_same_everywhere():
    (bibtex,) = (text for kind, text in blocks(INSTALLATION) if kind == "bibtex")
    preferred = CITATION["preferred-citation"]
    assert {
        PROJECT["version"],
        CITATION["version"],
        preferred["version"],
        *re.findall(r"version = {(.*)}", bibtex),
    } == {sb.__version__}
    assert re.findall(r"year = {(\d+)}", bibtex) == [str(preferred["year"])]
    assert CITATION["title"] == preferred["title"]
    assert f"title = {{{preferred['title']}}}" in bibtex


def test_only_versions_of_python_that_were_run_are_classified():
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    passed = re.findall(r"^\| (3\.\d+), newest \|", INSTALLATION.read_text("utf-8"), re.MULTILINE)
    assert classified == passed


def test_read_the_docs_builds_what_make_site_builds():
    settings = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text("utf-8"))
    assert (ROOT / settings["sphinx"]["configuration"]).is_file()
    assert settings["sphinx"]["fail_on_warning"]
    assert settings["build"]["tools"]["python"] in "\n".join(PROJECT["classifiers"])
    (install,) = settings["python"]["install"]
    assert set(install["extra_requirements"]) <= set(PROJECT["optional-dependencies"])
