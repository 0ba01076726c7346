"""`agent tasks make rebuild`: the steps of making a "rebuild this program" task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.group import HelpedCommand, command_group
from agent.cli.options import JsonOption

if TYPE_CHECKING:
    from environments.reporting import Reporter

rebuild = command_group("Make a task to rebuild a program: its image, its hidden suite, an instance of ProgramBench.")
make = command_group("Make tasks of a kind that needs more than files.")
make.add_typer(rebuild, name="rebuild")

TaskDirectory = Annotated[
    Path, typer.Argument(metavar="TASK_DIRECTORY", help="Directory of the rebuild task.", show_default=False)
]
Image = Annotated[
    str, typer.Argument(metavar="IMAGE", help="Image with the original, made by `image`.", show_default=False)
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the output of the build on standard error.")]


@rebuild.command("image", cls=HelpedCommand)
def make_image(
    package: Annotated[
        str, typer.Argument(metavar="PACKAGE", help="Name of a Debian package, such as figlet.", show_default=False)
    ],
    executable: Annotated[
        str,
        typer.Argument(
            metavar="EXECUTABLE",
            help="Path of a binary in the package, such as /usr/bin/figlet-figlet.",
            show_default=False,
        ),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="PATH", help="Files that the program reads at run time; repeatable."),
    ] = None,
    docs_from: Annotated[
        list[str] | None,
        typer.Option("--docs-from", metavar="PACKAGE", help="Package whose documents are added; repeatable."),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the image [retrace-rebuild-PACKAGE-EXECUTABLE].", show_default=False
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="Debian or Ubuntu image to start from [debian:bookworm-slim].", show_default=False
        ),
    ] = None,
    verbose: Verbose = False,
    json: JsonOption = False,
) -> None:
    """Build the image of a program to rebuild.

    An agent can run the program in it, but cannot read it. Prints the name of the image.
    """
    from agent.cli.output import emit_json
    from agent.cli.results import print_next
    from agent.making.rebuild import image

    with _machine_errors():
        name = image.build(
            package, executable, _reporter(verbose), data=data or (), docs_from=docs_from or (), tag=tag, base=base
        )
    if json:
        emit_json({"image": name})
        return
    typer.echo(name)
    print_next("tasks make rebuild suite TASK_DIRECTORY", name, effect="writes what the original answers")


@rebuild.command("suite", cls=HelpedCommand)
def make_suite(
    task: TaskDirectory,
    image: Image,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if the suite is not up to date.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write what the original answers to each input.

    Reads TASK_DIRECTORY/cases.in.yaml, runs the original on each case four times in a container without network, and
    writes tests/GROUP/cases.json. A case is dropped if the answers differ, or if a dummy program answers it as well.
    """
    from agent.cli.output import emit_json
    from agent.making.rebuild import suite
    from trajectories.record.texts.text import printable

    with _machine_errors():
        made = suite.make(task, image)
    stale = made.stale()
    if not check:
        made.write()
    counts = {group: len(cases) for group, cases in made.kept.items()}
    if json:
        emit_json(
            {
                "kept": counts,
                "dropped": dict(made.dropped),
                "changed": [str(path) for path in stale],
                "written": not check,
            }
        )
    else:
        for id, reason in made.dropped.items():
            typer.echo(printable(f"dropped {id}: {reason}"))
        groups = ", ".join(f"{group} {count}" for group, count in counts.items())
        total = made.total
        typer.echo(f"{total + len(made.dropped)} cases, {len(made.dropped)} dropped, {total} kept: {groups}")
    declared = made.declared()
    if declared is not None and declared != made.total:
        typer.echo(
            f"note: {task / 'task.yaml'}: evaluation.cases is {declared}; the suite has {made.total} cases", err=True
        )
    if check and stale:
        names = ", ".join(map(str, stale))
        typer.echo(f"agent: differs from the original's answers: {names}; run without --check", err=True)
        raise typer.Exit(1)


@rebuild.command("programbench", cls=HelpedCommand)
def make_programbench(
    task: TaskDirectory,
    image: Image,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            help="Directory in which tasks/ and blobs/ are written.",
            show_default=False,
        ),
    ],
    organization: Annotated[
        str, typer.Option(metavar="NAME", help="First part of the name of the instance's image.")
    ] = "retrace",
    owner: Annotated[str, typer.Option(metavar="NAME", help="First part of the instance's id.")] = "retrace",
    language: Annotated[str, typer.Option(metavar="NAME", help="Programming language of the original.")] = "c",
    verbose: Verbose = False,
    json: JsonOption = False,
) -> None:
    """Make your own instance of ProgramBench.

    The original runs through the whole suite; a test that it fails is listed as ignored. Prints the variables with
    which ProgramBench's tools and `agent` find the instance.
    """
    import shlex

    from agent.cli.output import emit_json
    from agent.making.rebuild import programbench

    with _machine_errors():
        instance = programbench.make(
            task, image, output, _reporter(verbose), organization=organization, owner=owner, language=language
        )
    for test in instance.ignored:
        typer.echo(f"ignored, because the original fails it: {test}", err=True)
    typer.echo(f"programbench/{instance.id}: {instance.tests} tests, image {instance.image}", err=True)
    if json:
        emit_json(
            {
                "id": f"programbench/{instance.id}",
                "image": instance.image,
                "tests": instance.tests,
                "ignored": list(instance.ignored),
                "variables": dict(instance.variables),
            }
        )
        return
    for name, value in instance.variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def _reporter(verbose: bool) -> Reporter:
    from environments.reporting import LogReporter, PrintReporter

    return PrintReporter() if verbose else LogReporter()


@contextmanager
def _machine_errors() -> Iterator[None]:
    """Turn a failure of the daemon or of a container into an error of the machine."""
    from agent.errors import MachineError
    from environments.protocol import EnvironmentFault

    try:
        yield
    except EnvironmentFault as fault:
        raise MachineError(str(fault)) from None
