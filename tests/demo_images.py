"""The images of the embedded demos, made if they are missing.

`python -m tests.demo_images` makes them all, and those of the tests of ProgramBench. The project's own code makes an
image in one process at a time; a test that needs it waits until another process has made it.
"""

from __future__ import annotations

from benchmarks.task.registry import benchmark
from environments.docker import daemon, images
from environments.reporting import LogReporter, PrintReporter, Reporter


def demo_image(name: str, reporter: Reporter | None = None) -> str | None:
    """Return a reference to the image of `demo/NAME`; None if that demo needs no image.

    Raises: EnvironmentUnavailable.
    """
    task = benchmark("demo").load(name)
    if not (task.spec.build or task.spec.image):
        return None
    api = daemon.connect()
    try:
        return images.make_available(api, task.spec, reporter or LogReporter()).reference
    finally:
        api.close()


def programbench_images() -> tuple[str, str]:
    """Return references to the images of the ProgramBench tests: that of the fixture, and that of a real program."""
    from agent.making.rebuild import image
    from tests.programbench import clean_room

    return clean_room.calculator_image().reference, image.build("bsdgames", "/usr/games/number", LogReporter())


if __name__ == "__main__":
    for name in benchmark("demo").ids():
        image = demo_image(name, PrintReporter())
        print(f"demo/{name}: {image or 'needs no image'}")
    for reference in programbench_images():
        print(f"programbench: {reference}")
