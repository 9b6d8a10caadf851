"""The table of a source behind an HTTP endpoint."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shapband.app.config.tables import Above, Count, Table, Text


class Secret(Table):
    """A secret in an environment variable; it is read when the run starts, and never stored."""

    env: Text = Field(description="The name of the environment variable.")


class HttpSource(Table):
    """Records behind an HTTP endpoint; needs `pip install 'shapband[http]'`."""

    object_keys = ("url",)

    kind: Literal["http"]
    url: Text = Field(
        description="The address of the endpoint, without /v1.",
        examples=["https://north.example.org/records"],
    )
    token: Secret | None = Field(
        None, description="Sent as a bearer token, over https or to this machine only."
    )
    ca_file: Text | None = Field(
        None,
        description="Certificates of the authorities that are trusted, instead of those of the "
        "system. Relative paths start at the folder of this file.",
    )
    timeout: Above = Field(60.0, description="Seconds in which an answer must have arrived.")
    concurrent: Count = Field(8, description="Requests at the same time.")
    max_bytes: Count = Field(2**28, description="Largest size of an answer in bytes.")
