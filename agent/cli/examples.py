"""Examples and pages of the documentation for the help of each command, by the words after `agent`.

Each example is a purpose and the line to type. `ledger` stands for the beginning of a trial's id, `single` for the
folder into which `agent solve` writes. The tests parse every example and run those that need no environment.
"""

from __future__ import annotations

from collections.abc import Mapping

Example = tuple[str, str]

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "": (
        ("a first trial, without a key: the task's own solution", "agent solve --task demo/ledger --model oracle"),
        ("look at the trial whose id begins with `ledger`", "agent show ledger"),
    ),
    "plan": (
        ("a plan for a demo, in plans/ledger.opus.1", "agent plan --task demo/ledger --model opus"),
        ("write a plan yourself, into a file", "agent plan --task demo/ledger --model human -o plan.md"),
    ),
    "solve": (
        ("let a model solve a demo", "agent solve --task demo/ledger --model opus"),
        ("type the commands yourself", "agent solve --task demo/ledger --model human"),
        (
            "three attempts of at most 20 dollars each",
            "agent solve --task ffmpeg --model opus --attempts 3 --cost-limit 20",
        ),
        (
            "a task of your own, in a container image",
            "agent solve --instruction 'Write a linter.' --image gcc:14 --model opus",
        ),
    ),
    "resume": (("continue the trial whose id begins with `ledger`", "agent resume ledger"),),
    "fork": (
        ("go on after step 3 with another model", "agent fork ledger --at 3 --model sonnet"),
        ("give a hint", "agent fork ledger --at 2 --inject 'Sort the accounts by name.'"),
    ),
    "batch": (
        ("see the grid of a spec and its largest cost", "agent batch study.yaml --dry-run"),
        ("run it, or go on with it", "agent batch study.yaml"),
        ("see how far it is, from another terminal", "agent batch status study"),
    ),
    "batch status": (
        ("see how far a batch is", "agent batch status study"),
        ("the same for a program", "agent batch status runs/study --json"),
    ),
    "rollout": (
        ("see what it may cost, and start nothing", "agent rollout ledger --at 0-20:5 --times 5 --dry-run"),
        ("five forks at each of three steps", "agent rollout ledger --at 5,10,20 --times 5 --cost-limit 50"),
        ("the values so far", "agent rollout ledger --report"),
    ),
    "evaluate": (
        ("evaluate a trial again", "agent evaluate ledger"),
        ("the trials of a folder that have no score", "agent evaluate single --evaluations 2"),
        ("evaluate a directory as a solution of a task", "agent evaluate before --task demo/ledger"),
    ),
    "replay": (
        ("run all commands again", "agent replay ledger"),
        ("the first two steps; exit with 1 on any difference", "agent replay ledger --to 2 --strict"),
    ),
    "trials": (
        ("list all trials", "agent trials"),
        ("list those of one model of the last two days", "agent trials --model opus --since 2d"),
        ("list the newest five of a task", "agent trials --task ledger --limit 5"),
        ("list those in another directory", "agent trials --runs studies/june"),
    ),
    "show": (
        ("the steps and the summary", "agent show ledger"),
        ("one step in full", "agent show ledger --step 3"),
        ("the whole output of its first command", "agent show ledger --output 3.1"),
        ("the tests that failed", "agent show ledger --verdict --failed"),
    ),
    "checkout": (("the workspace after step 2, in a new directory", "agent checkout ledger --step 2 before"),),
    "diff": (
        ("the files that the trial changed", "agent diff ledger"),
        ("the changed lines between two steps", "agent diff ledger --step 2 --to 3 --content"),
    ),
    "score": (
        ("score all trials of a folder", "agent score runs/single"),
        ("score the trials of one benchmark", "agent score --benchmark demo --since 2026-11-01"),
        ("write the report as a page of Markdown", "agent score single --output report.md"),
    ),
    "analyze": (
        ("one trial", "agent analyze ledger"),
        ("a folder of trials, as a table of one row each", "agent analyze runs/single --csv actions.csv"),
        ("look for violations of clean-room rules", "agent analyze ledger --integrity"),
    ),
    "import": (("a trajectory of mini-swe-agent", "agent import run.traj.json"),),
    "export": (
        ("one trial in ATIF", "agent export ledger --format atif --output ledger.json"),
        ("a recording for asciinema", "agent export ledger --format asciicast -o ledger.cast"),
    ),
    "schema": (("write the schema into a file", "agent schema > record.schema.json"),),
    "tasks": (("list all tasks", "agent tasks list"),),
    "tasks list": (
        ("all tasks", "agent tasks list"),
        ("easy tasks in Rust", "agent tasks list rs easy"),
        ("the tasks of one benchmark", "agent tasks list --benchmark demo"),
    ),
    "tasks show": (
        ("one task with its instruction", "agent tasks show demo/ledger"),
        ("all tasks of a folder as JSON", "agent tasks show my-tasks/* --json"),
    ),
    "tasks new": (
        ("a task in our own format", "agent tasks new my-task"),
        ("a task that Harbor runs as well", "agent tasks new my-harbor-task --format harbor"),
        ("a program to rebuild", "agent tasks new my-rebuild --kind rebuild"),
    ),
    "tasks export": (("a demo for Harbor", "agent tasks export demo/ledger --format harbor -o ledger-harbor"),),
    "tasks make": (("the kinds of task that can be made", "agent tasks make rebuild --help"),),
    "tasks make rebuild": (("the image of a program", "agent tasks make rebuild image bsdgames /usr/games/number"),),
    "tasks make rebuild image": (
        ("the image of a program", "agent tasks make rebuild image bsdgames /usr/games/number"),
    ),
    "tasks make rebuild suite": (
        ("write what the original answers", "agent tasks make rebuild suite my-task IMAGE"),
        ("only compare", "agent tasks make rebuild suite my-task IMAGE --check"),
    ),
    "tasks make rebuild programbench": (
        ("make an instance of a task", "agent tasks make rebuild programbench my-task IMAGE -o own"),
    ),
    "tasks check": (
        ("the files of a task alone", "agent tasks check demo/ledger --fast"),
        ("all, with its tests", "agent tasks check demo/ledger"),
    ),
    "tasks add": (
        ("the tasks in a folder, as longcli/NAME", "agent tasks add LongCLI-Bench/tasks_long_cli --name longcli"),
    ),
    "tasks remove": (("forget the name of a dataset", "agent tasks remove terminal-bench"),),
    "models": (("list the aliases", "agent models list"),),
    "models list": (("the aliases with prices and keys", "agent models list"),),
    "models settings": (("the settings of --model-setting", "agent models settings"),),
    "prompts": (("list the prompts", "agent prompts list"),),
    "prompts list": (("the shipped prompts", "agent prompts list"),),
    "prompts show": (
        ("a whole prompt, to write one of your own", "agent prompts show default > mine.yaml"),
        ("what the newest version changed", "agent prompts show default --diff default-1"),
    ),
    "prices": (("list the tables", "agent prices list"),),
    "prices list": (
        ("the tables", "agent prices list"),
        ("the rates of one model in a table", "agent prices list june --model opus"),
    ),
    "prices snapshot": (
        ("keep today's prices of a model", "agent prices snapshot june --model opus"),
        (
            "a price of your own, in dollars per token",
            "agent prices snapshot july --set 'openai/mine input=3e-6 output=1.5e-5'",
        ),
    ),
    "prices diff": (("compare two tables", "agent prices diff june july"),),
    "doctor": (
        ("this machine", "agent doctor"),
        ("commands of a trial that may not reproduce", "agent doctor ledger"),
    ),
    "clean": (
        ("see what would be removed", "agent clean --dry-run"),
        ("remove it", "agent clean"),
    ),
    "gc": (
        ("see how much would be deleted", "agent gc --dry-run"),
        ("pack the records of finished trials", "agent gc --pack"),
    ),
}
"""Examples of a command: what each is for, and the line."""

_TUTORIAL = "docs/tutorial/first-trial.md"
_TASKS = "docs/howto/programbench.md"
_MAKING = "docs/howto/tasks.md"
_DATASETS = "docs/howto/published-benchmarks.md"
_RECORD = "docs/reference/record.md"
_SCORING = "docs/reference/scoring.md"
_FORMATS = "docs/reference/formats.md"
_PROMPTS = "docs/reference/prompts.md"
_SETTINGS = "docs/reference/model-settings.md"

PAGES: Mapping[str, str] = {
    "": "docs/README.md",
    "plan": "docs/howto/plans.md",
    "solve": _TUTORIAL,
    "resume": _TUTORIAL,
    "fork": _TUTORIAL,
    "batch": "docs/howto/batches.md",
    "batch status": "docs/howto/batches.md",
    "rollout": "docs/howto/rollout.md",
    "evaluate": _TASKS,
    "replay": "docs/reference/replay.md",
    "trials": _TUTORIAL,
    "show": _TUTORIAL,
    "checkout": _TUTORIAL,
    "diff": _TUTORIAL,
    "score": _SCORING,
    "analyze": "docs/reference/integrity.md",
    "import": _FORMATS,
    "export": _FORMATS,
    "schema": _RECORD,
    "tasks": _MAKING,
    "tasks list": _DATASETS,
    "tasks show": _DATASETS,
    "tasks new": _MAKING,
    "tasks export": _MAKING,
    "tasks make": _MAKING,
    "tasks make rebuild": _MAKING,
    "tasks make rebuild image": _MAKING,
    "tasks make rebuild suite": _MAKING,
    "tasks make rebuild programbench": _MAKING,
    "tasks check": _DATASETS,
    "tasks add": _DATASETS,
    "tasks remove": _DATASETS,
    "models": _SETTINGS,
    "models list": _SETTINGS,
    "models settings": _SETTINGS,
    "prompts": _PROMPTS,
    "prompts list": _PROMPTS,
    "prompts show": _PROMPTS,
    "prices": _SCORING,
    "prices list": _SCORING,
    "prices snapshot": _SCORING,
    "prices diff": _SCORING,
    "doctor": "docs/reference/environments.md",
    "clean": "docs/explanation/security.md",
    "gc": _RECORD,
}
"""The page that explains a command further."""
