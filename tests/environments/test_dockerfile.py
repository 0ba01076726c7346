"""Base images are replaced in FROM and COPY --from, wherever these stand, and nowhere else."""

from __future__ import annotations

import pytest

from environments.docker.dockerfile import with_images

MAP = {"ubuntu:22.04": "mine", "python": "py:1", "reg.example/uv:1": "uv"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FROM ubuntu:22.04", "FROM mine"),
        ("FROM ubuntu:22.04  \t\nRUN a\n", "FROM mine  \t\nRUN a\n"),
        ("\n# FROM ubuntu:22.04\n#FROM x\n  from ubuntu:22.04 as Base\n", None),
        ("FROM --platform=linux/amd64 docker.io/library/ubuntu:22.04", "FROM --platform=linux/amd64 mine"),
        ("FROM \\\n  ubuntu:22.04 \\\n# note\n  AS a\nFROM a\n", "FROM \\\n  mine \\\n# note\n  AS a\nFROM a\n"),
        ("FROM python:latest AS ubuntu\nFROM ubuntu\n", "FROM py:1 AS ubuntu\nFROM ubuntu\n"),
        ("FROM alpine AS python\nFROM python\nFROM python:latest", "FROM alpine AS python\nFROM python\nFROM py:1"),
        ("ARG V=22.04\nARG N='ubuntu'\nFROM $N:${V}\n", "ARG V=22.04\nARG N='ubuntu'\nFROM mine\n"),
        ("ARG V\nFROM ubuntu:${V:-22.04}\n", "ARG V\nFROM mine\n"),
        ("ARG V=24.04\nFROM ubuntu:$V\nARG V=22.04\n", "ARG V=24.04\nFROM ubuntu:$V\nARG V=22.04\n"),
        ("FROM ubuntu:22.04-slim\nFROM x/ubuntu:22.04\nFROM ubuntu\n", None),
        ("FROM a\nRUN q \"select * \\\nFROM python\"\n", None),
        ("RUN <<EOF cat >q\nFROM python\nEOF\nFROM python\n", "RUN <<EOF cat >q\nFROM python\nEOF\nFROM py:1\n"),
        ("FROM a\nCOPY --chown=1 --from=reg.example/uv:1 /uv /bin/\n", "FROM a\nCOPY --chown=1 --from=uv /uv /bin/\n"),
    ],
)  # fmt: skip
def test_base_images_are_replaced(before: str, after: str | None) -> None:
    if after is None:
        after = before.replace("from ubuntu:22.04", "from mine")
    assert with_images(before, MAP, {}) == after


def test_an_argument_of_the_build_decides_which_image_is_named() -> None:
    text = "ARG BASE=debian\nFROM ${BASE}\n"
    assert with_images(text, {"ubuntu": "mine"}, {"BASE": "ubuntu"}) == "ARG BASE=debian\nFROM mine\n"
    assert with_images(text, {"debian": "mine"}, {"BASE": "ubuntu"}) == text
