"""All mistakes of a spec are listed at once, each once, with its line and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.errors import UserError
from tests.batches.grid.specs import grid_of, write_files

GOOD = "tasks: [ledger, cronwhen]\nmodels: [nop]\nenv: sandbox\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("mistakes"))


def mistakes_of(folder: Path, spec: str) -> list[str]:
    """Return the mistakes of a spec, in the order of their lines."""
    with pytest.raises(UserError) as caught:
        grid_of(folder, spec)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{folder}/study.yaml: ")
    return re.split("; (?=line )", line.removeprefix(f"{folder}/study.yaml: "))


def test_mistakes_of_all_kinds_are_listed_at_once(folder: Path) -> None:
    mistakes = mistakes_of(
        folder,
        """\
tasks: [ledgr, cronwhen, "tier:esay", "zz*", ./nothing]
models: [opsu, {name: opus, settinggs: {a: 1}}, human, "replay:x"]
arms:
  base: {}
  again:
  plan: {plan: "plan/{task}.md"}
  turns: {self_corect: 3}
  one: {self_correct: 1}
  person: {guidance: human}
attempt: 3
attempt: 4
agents: 4
exclude: [{arm: plna}]
limits: {stepps: 50, time: 1x}
env: sandbx
budget: {usd: 0}
workers: many
""",
    )
    expected = [
        r"line 1: tasks.0: unknown task 'ledgr'; did you mean demo/ledger\?",
        r"line 1: tasks.2: 'tier:esay' is not a tier of any task; tiers are easy, hard, medium",
        r"line 1: tasks.3: 'zz\*' fits no task",
        r"line 1: tasks.4: /\S+/nothing: no such directory of a task",
        r"line 2: models.0: unknown model 'opsu'.*similar names: opus",
        r"line 2: models.1.settinggs: unknown key; did you mean settings\?",
        r"line 2: models.2: human cannot be a model of a batch",
        r"line 2: models.3: replay:x cannot be a model of a batch",
        r"line 6: arms.plan.plan: there is no file /\S+/plan/cronwhen.md \(plan/\{task\}.md\)",
        r"line 7: arms.turns.self_corect: unknown key; did you mean self_correct\?",
        r"line 9: arms.person.guidance: human cannot be an expert of a batch",
        r"line 10: attempt: unknown key; did you mean attempts\?",
        r"line 11: attempt: occurs twice",
        r"line 12: agents: is reserved for a later version",
        r"line 13: exclude.0.arm: the spec has no arm 'plna'; did you mean plan\?",
        r"line 14: limits.stepps: unknown key; did you mean steps\?",
        r"line 14: limits.time: '1x' is not a duration",
        r"line 15: env: must be docker or sandbox or local, not 'sandbx'",
        r"line 16: budget.usd: must be greater than 0, not 0",
        r"line 17: workers: must be a whole number, not 'many'",
    ]
    for pattern in expected:
        assert sum(bool(re.match(pattern, line)) for line in mistakes) == 1, (pattern, mistakes)
    assert len(mistakes) == len(expected), mistakes


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        ("arms: {a: {}, b: {feedback: raw}}", "arms.b.feedback: must be 'output', 'failing', 'scores' or 'paths'"),
        ("arms: {a: {}, b: }", "arms.b: the arms a and b give the same trials; leave one out, or change its options"),
        (
            "arms: {a: {self_correct: 2}, b: {self_correct: 2, conversation: fresh, until: fixed}}",
            "arms.b: the arms a and b give the same trials",
        ),
        ("arms: {one: {self_correct: 1}}", "arms.one.self_correct: self_correct 1: one turn is not self-correction"),
        ("arms: {f: {feedback: scores}}", "arms.f.feedback: feedback goes with self_correct; add that, or leave"),
        ("arms: {r: {guidance_rule: none}}", "arms.r.guidance_rule: guidance_rule does not apply without an expert"),
        ("arms: {v: {variants: [odd]}}", "arms.v"),
        ("arms: {p: {prompt: nonsense}}", "arms.p.prompt: there is no file /"),
        ("arms: {'a b': {}}", "arms.a b: is not a name of an arm"),
        ("arms: []", "arms: must be a mapping of names to options, not a list"),
        ("exclude: [{task: cronwhen, arm: nop}]", "exclude.0.arm: the spec has no arm 'nop'; arms are base"),
        ("exclude: [{}]", "exclude.0: must be a mapping with task, model or arm"),
        ("exclude: [{task: ledger}, {task: demo/ledger, model: oracle}]", "exclude.1.model: the spec has no model"),
        ("name: ../elsewhere", "name: '../elsewhere' cannot name a batch"),
        ("name: .hidden", "name: '.hidden' cannot name a batch"),
        ("name: plans", "name: 'plans' cannot name a batch: agent plan keeps its plans"),
        ("attempts: 0", "attempts: must be at least 1, not 0"),
        ("attempts: true", "attempts: must be a whole number, not True"),
        ("reruns: -1", "reruns: must be at least 0, not -1"),
        ("prices: no-such-table", "prices: prices no-such-table: there is no snapshot of that name"),
        ("limits: {tokens: 0}", "limits.tokens: must be greater than 0, not 0"),
        ("limits: {time: .inf}", "limits.time: inf is not a duration"),
        ("limits: 3", "limits: must be a mapping of keys to values, not 3"),
        ("budget: {usd: .nan}", "budget.usd: must be"),
        ("from: {trials: [x]}", "from.at: is missing"),
        ("env: sandbox", "env: occurs twice"),
    ],
)
def test_a_mistake_is_named_with_its_key(folder: Path, lines: str, mistake: str) -> None:
    spec = f"{GOOD}{lines}\n"
    if "from:" in lines:
        spec = f"{lines}\n"
    assert any(f": {mistake}" in f": {line.partition(': ')[2]}" for line in mistakes_of(folder, spec)), mistakes_of(
        folder, spec
    )


def test_tasks_models_and_arms_that_give_the_same_trials_are_named(folder: Path) -> None:
    (task,) = mistakes_of(folder, "tasks: [ledger, demo/ledger]\nmodels: [nop]\nenv: sandbox\n")
    assert task == "line 1: tasks.1: demo/ledger is demo/ledger, which ledger names already; leave one out"
    spec = "tasks: [ledger]\nmodels: ['script:scripts/ledger.yaml', {name: 'script:scripts/../scripts/ledger.yaml'}]\n"
    (model,) = mistakes_of(folder, f"{spec}env: sandbox\n")
    assert "models.1: the models script:scripts/ledger.yaml and script:scripts/../scripts/ledger.yaml give" in model


def test_a_task_that_a_pattern_names_as_well_is_taken_once(folder: Path) -> None:
    grid = grid_of(folder, 'tasks: [ledger, "*ledger", "demo/cron*"]\nmodels: [nop]\nenv: sandbox\n')
    assert [line.order.task.id for line in grid.lines] == ["demo/ledger", "demo/cronwhen"]


def test_a_plan_with_code_is_refused_with_its_line(folder: Path) -> None:
    (folder / "plans/code.md").write_text("Write this:\n\n    import sys\n\n```python\nimport sys\n```\n")
    spec = f"{GOOD}arms: {{p: {{plan: plans/code.md, plan_rule: no-code}}}}\n"
    (mistake,) = mistakes_of(folder, spec)
    assert mistake.startswith("line 4: arms.p.plan")
    assert "breaks the rule no-code" in mistake
    assert "use plan_rule none" in mistake


def test_the_oracle_does_not_go_with_interventions(folder: Path) -> None:
    spec = f"{GOOD.replace('nop', 'oracle')}arms:\n  base:\n  turns: {{self_correct: 2, feedback: scores}}\n"
    (mistake,) = mistakes_of(folder, spec)
    assert mistake.startswith("line 6: arms.turns.self_correct: does not apply to oracle")
    assert "{model: oracle, arm: turns}" in mistake
    grid = grid_of(folder, f"{spec}exclude: [{{model: oracle, arm: turns}}]\n")
    assert {line.configuration.arm for line in grid.lines} == {"base"}


def test_a_budget_needs_a_price_and_a_bound_of_every_model(folder: Path) -> None:
    spec = GOOD.replace("nop", "{name: openai/home-made, settings: {unlisted: true}}, nop")
    price, bound = mistakes_of(folder, f"{spec}budget: {{usd: 5}}\n")
    assert price.startswith("line 2: models.0: 'openai/home-made' has no price in litellm")
    assert price.endswith("so budget.usd could not be kept; name a table with `prices`, or leave it out")
    assert bound.startswith("line 2: models.0: nothing bounds a reply of 'openai/home-made'")
    (bound,) = mistakes_of(folder, f"{spec}budget: {{tokens: 5M}}\n")
    assert bound.endswith("give it the setting max_tokens")
    bounded = spec.replace("unlisted: true", "unlisted: true, max_tokens: 1000")
    assert grid_of(folder, f"{bounded}budget: {{tokens: 5M}}\n").lines


def test_a_budget_that_is_smaller_than_one_call_is_a_mistake(folder: Path) -> None:
    spec = GOOD.replace("nop", "nop, {name: openai/gpt-5, settings: {max_tokens: 10000}}")
    usd, tokens = mistakes_of(folder, f"{spec}budget: {{usd: 0.01, tokens: 9k}}\n")
    assert re.match(
        r"line 4: budget.usd: \$0.01 is less than the first call of openai/gpt-5 \(demo/\w+, arm base\)", usd
    )
    assert usd.endswith("raise it, or lower the model's setting max_tokens")
    assert re.search(r"budget.tokens: 9,000 is less than the first call of .* can use, [12]\d,\d{3};", tokens)
    assert grid_of(folder, f"{spec}budget: {{usd: 1, tokens: 50k}}\n").lines


def test_a_task_that_does_not_allow_the_environment_is_named(folder: Path) -> None:
    (mistake,) = mistakes_of(folder, "tasks: [ledger, spans]\nmodels: [nop, oracle]\nenv: sandbox\n")
    assert mistake.startswith("line 1: tasks.1: this task does not run in the sandbox environment; it allows: docker")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("[]", "must be a mapping of keys to values, not a list"),
        ("tasks: [x", "line 1: a bracket is not closed"),
        ("a: &x 1\nb: *x", "aliases are not allowed"),
        ("{}", "tasks: is missing"),
    ],
)
def test_a_file_that_is_no_spec_is_one_line(folder: Path, text: str, reason: str) -> None:
    assert any(reason in line for line in mistakes_of(folder, text))


def test_a_spec_that_is_missing_is_one_line(tmp_path: Path) -> None:
    from agent.batch.grid.resolve import resolve_spec

    with pytest.raises(UserError, match=r"nothing\.yaml: cannot be read"):
        resolve_spec(tmp_path / "nothing.yaml", tmp_path)


def test_models_are_checked_also_where_no_task_is_known(folder: Path) -> None:
    mistakes = mistakes_of(folder, "tasks: [ledgr]\nmodels: [opsu, human, nop]\nenv: sandbox\n")
    assert [mistake.split(": ")[1] for mistake in mistakes] == ["tasks.0", "models.0", "models.1"]
    assert "human cannot be a model" in mistakes[2]
