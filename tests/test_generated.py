"""Pages that follow from the code are as the code would write them."""

import json
import runpy
import tomllib
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parent.parent
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = GENERATOR["pages"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_generated_page_is_up_to_date(page):
    assert page.read_text(encoding="utf-8") == PAGES[page], "run `make docs`"


def test_the_picture_of_the_idea_is_what_its_script_draws():
    script = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    assert script["FILE"].read_text(encoding="utf-8") == script["picture"](), (
        "run `python docs/picture.py`"
    )


def test_the_schema_agrees_with_the_starter():
    schema = json.loads((ROOT / "docs" / "shapband.schema.json").read_text())
    text = (ROOT / "src/shapband/app/config/starter.toml").read_text().format(schema="", file="")
    jsonschema.validate(tomllib.loads(text), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text) | {"n_gmaes": 3}, schema)
