"""Reading compose files: variables, short and long forms, and what is refused by name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.containers.compose import Containers, Folder, read
from benchmarks.containers.interpolation import interpolated, unset
from benchmarks.containers.mistakes import Rules
from benchmarks.judging.system.evaluating import Facts
from benchmarks.judging.system.opening import Opened
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TaskError
from environments.protocol import Started
from environments.services import MAIN, Healthcheck, Mount, Network

RULES = Rules("main", {"PORT": "80", "EMPTY": ""}, mounts=("${HOST_LOGS}",), needs_main=False)


def containers(folder: Path, text: str, settings: TaskSettings | None = None) -> Containers:
    (folder / "docker-compose.yaml").write_text(text)
    settings = settings or TaskSettings()
    return read(folder / "docker-compose.yaml", RULES, Folder(TaskSource.of(folder, settings), ".", settings))


def mistakes(folder: Path, text: str) -> str:
    with pytest.raises(TaskError) as caught:
        containers(folder, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a$PORT-${PORT}b", "a80-80b"),
        ("$$PORT ${PORT:-1} ${EMPTY:-1} ${EMPTY-1}", "$PORT 80 1 "),
        ("${NONE:-x} ${NONE-y} ${NONE:+z} ${PORT:+z} ${EMPTY:+z} ${EMPTY+z}", "x y  z  z"),
        ("${PORT:?is needed}", "80"),
        ("100$ $5 {PORT}", "100$ $5 {PORT}"),
    ],
)
def test_variables_follow_the_rules_of_compose(text: str, value: str) -> None:
    assert interpolated([{"a": text}], RULES.variables) == [{"a": value}]
    assert not list(unset([{"a": text}], RULES.variables))


def test_no_variable_of_this_machine_is_handed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    text = mistakes(
        tmp_path,
        "services:\n  db:\n    image: x\n    environment:\n      A: ${OPENAI_API_KEY}\n      B: ${B:?give B}\n",
    )
    assert "line 5: services.db.environment.A: the variable OPENAI_API_KEY is not set" in text
    assert "line 6: services.db.environment.B: the variable B is not set (give B)" in text
    listed = containers(tmp_path, "services: {db: {image: x, environment: [OPENAI_API_KEY, 'A=', 'B=c=d', 'C=$PORT']}}")
    assert listed.services[0].env == {"A": "", "B": "c=d", "C": "80"}


def test_short_and_long_forms_mean_the_same(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    short = """services:
  main: {depends_on: [db], network_mode: bridge}
  db:
    build: db
    command: serve "two words" $$HOME
    depends_on: [init]
    volumes: ['data:/var/db', './conf:/conf:ro', '/cache']
    tmpfs: /run
    healthcheck: {test: ready, interval: 1m30s, retries: 2, start_period: 500ms}
    networks: [back]
    restart: "on-failure:3"
    mem_limit: 1g
    user: 1000
  init: {image: 'busybox:1', restart: no}
networks: {back: {internal: true}}
volumes: {data: {}}
"""
    long = """services:
  main: {depends_on: {db: {condition: service_started}}}
  db:
    build: {context: ./db, dockerfile: Dockerfile}
    command: [serve, two words, $$HOME]
    depends_on: {init: {condition: service_started}}
    volumes:
      - {type: volume, source: data, target: /var/db}
      - {type: bind, source: ./conf, target: /conf, read_only: true}
      - {type: volume, target: /cache}
    tmpfs: [/run]
    healthcheck: {test: [CMD-SHELL, ready], interval: 90s, retries: 2, start_period: 0.5s}
    networks: {back: {}}
    restart: on-failure
    deploy: {resources: {limits: {memory: 1024m}}}
    user: "1000"
  init: {image: 'busybox:1'}
networks: {back: {internal: true}}
volumes: {data: }
"""
    one, other = containers(tmp_path, short), containers(tmp_path, long)
    assert (one.services, one.member) == (other.services, other.member)
    db = one.services[0]
    assert (db.command, db.user, db.memory_bytes, db.restart) == (
        ("serve", "two words", "$HOME"),
        "1000",
        1 << 30,
        "on-failure",
    )
    assert db.healthcheck == Healthcheck(("/bin/sh", "-c", "ready"), 90.0, 30.0, 0.5, 2)
    assert db.member.networks == (Network("back", internal=True),)
    assert [mount.kind for mount in db.member.mounts] == ["volume", "bind", "volume", "tmpfs"]
    assert db.member.mounts[1] == Mount("bind", "/conf", str(tmp_path / "conf"), read_only=True)


def test_mapped_images_names_and_the_mounts_of_the_harness(tmp_path: Path) -> None:
    settings = TaskSettings(base_images={"db:1": "mirror/db:1"})
    result = containers(
        tmp_path,
        "services:\n"
        "  main: {volumes: ['${HOST_LOGS}:/logs'], network_mode: none, command: [sh, -c, sleep infinity], tty: true}\n"
        "  db: {image: 'db:1', depends_on: [main], networks: {default: {aliases: [store]}},\n"
        "       healthcheck: {disable: true}}\n",
        settings,
    )
    assert (result.network, result.member.mounts, result.member.networks) == (False, (), ())
    db = result.services[0]
    assert (db.image, db.member.aliases, dict(db.member.depends_on)) == ("mirror/db:1", ("store",), {MAIN: "started"})
    assert db.healthcheck == Healthcheck(())


REFUSED = {
    "services: {db: {image: x, privileged: true}}": "services.db.privileged: is not provided",
    "services: {db: {image: x, cap_add: [SYS_ADMIN]}}": "services.db.cap_add: is not provided",
    "services: {db: {image: x, profiles: [test]}}": "services.db.profiles: is not provided",
    "services: {db: {image: x, network_mode: host}}": "network_mode: is not provided, only none and bridge",
    "services: {db: {image: x, volumes: ['/etc:/x:ro']}}": "'/etc:/x' is not provided: it lies outside of the task",
    "services: {db: {image: x, volumes: ['../../a:/x:ro']}}": "it lies outside of the task",
    "services: {db: {image: x, volumes: ['./a:/x']}}": "only a read-only one (:ro)",
    "services: {db: {image: x, volumes: ['data:/x']}}": "there is no volume data",
    "services: {db: {image: x, volumes: ['/var/run/docker.sock:/x:ro']}}": "outside of the task",
    "services: {db: {image: x, depends_on: [web]}}": "services.db.depends_on: there is no service web",
    "services: {db: {image: x, depends_on: {main: {condition: odd}}}}": "main: condition must be service_started",
    "services: {db: {image: x, networks: [back]}}": "there is no network back",
    "services: {db: {image: x, networks: {default: {ipv4_address: 1.2.3.4}}}}": "default: ipv4_address is not provided",
    "services: {db: {image: x}}\nnetworks: {n: {driver: host}}": "networks.n.driver: the driver 'host' is not provided",
    "services: {db: {image: x}}\nvolumes: {v: {external: true}}": "volumes.v.external: is not provided",
    "services: {db: {image: x}}\nsecrets: {s: {file: ./x}}": "secrets: is not provided",
    "services: {db: {build: {context: ., target: x}}}": "services.db.build: target is not provided",
    "services: {db: {build: /etc}}": "the build context '/etc' lies outside of the task",
    "services: {db: {build: {context: ., dockerfile: ../x}}}": "the Dockerfile '../x' lies outside of its context",
    "services: {db: {}}": "services.db: has neither build nor image",
    "services: {db: {image: x, healthcheck: {test: [odd]}}}": "healthcheck.test: must be a text, or a list that",
    "services: {db: {image: x, healthcheck: {test: a, interval: soon}}}": "must be a duration such as 1m30s",
    "services: {db: {image: x, mem_limit: much}}": "mem_limit: must be a size such as 4g, not 'much'",
    "services: {main: {command: serve}}": "services.main.command: is not provided, only one that waits",
    "services: {main: {healthcheck: {test: a}}}": "services.main.healthcheck: is not provided for the container of the",
    "services: {a: {image: x, depends_on: [b]}, b: {image: x, depends_on: [a]}}": "a member depends on itself",
    "services: [a]": "must have the service main",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_provided_is_refused_by_name(text: str, tmp_path: Path) -> None:
    assert REFUSED[text] in mistakes(tmp_path, text)


def test_all_mistakes_come_at_once_with_their_lines(tmp_path: Path) -> None:
    text = mistakes(
        tmp_path, "services:\n  db:\n    image: x\n    cap_add: [ALL]\n    cpus: 0\n  web:\n    extends: db\n"
    )
    assert "line 4: services.db.cap_add: is not provided" in text
    assert "line 5: services.db.cpus: must be greater than 0" in text
    assert "line 7: services.web.extends: is not provided" in text


def test_a_verdict_tells_that_services_and_volumes_begin_anew(tmp_path: Path) -> None:
    text = "services: {main: {volumes: ['data:/data']}, db: {image: x}, web: {image: y}}\nvolumes: {data: {}}"
    read_in = containers(tmp_path, text)
    environment = SimpleNamespace(spec=SimpleNamespace(services=read_in.services, member=read_in.member))
    for processes_kept, notes in ((True, 0), (False, 2)):
        facts = Facts({})
        facts.note_image(Opened(environment, Started("docker", "/app", ()), processes_kept))  # type: ignore[arg-type]
        assert len(facts.notes) == notes
    assert facts.notes[0].endswith("as at the start: /data")
    assert facts.notes[1].endswith("after the trial: db, web")


def test_an_overlay_mends_the_image_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "task" / "db").mkdir(parents=True)
    (tmp_path / "overlay" / "db").mkdir(parents=True)
    services = containers(
        tmp_path / "task", "services: {db: {build: ./db}}", TaskSettings(overlay=tmp_path / "overlay")
    ).services
    assert services[0].build is not None
    assert (services[0].build.context, services[0].build.overlay) == (
        tmp_path / "task" / "db",
        tmp_path / "overlay" / "db",
    )
