"""`agent schema`: print the JSON Schema of the record."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of the events in a record."""
    from agent.cli.output import emit_json
    from trajectories.record.events import EVENT, SCHEMA_VERSION

    content = EVENT.json_schema(by_alias=True, mode="serialization")
    emit_json({"$schema": "https://json-schema.org/draft/2020-12/schema", "version": SCHEMA_VERSION, **content})
